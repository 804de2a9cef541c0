import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@Suite struct RegularFileTests {
    private let folder: TemporaryFolder
    private let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    init() throws { self.folder = try TemporaryFolder() }

    private func source(_ name: String, growth: FileSource.GrowthPolicy = .snapshot) -> FileSource {
        FileSource(path: self.folder.path(name), growth: growth)
    }

    /// A file whose time of modification lies in the past, so that any write is seen.
    private func writeOldFile(_ name: String, _ bytes: [UInt8]) throws {
        try self.folder.write(bytes, to: name)
        let times = [timespec(tv_sec: 1_000_000_000, tv_nsec: 5), timespec(tv_sec: 1_000_000_000, tv_nsec: 5)]
        try #require(utimensat(AT_FDCWD, self.folder.path(name), times, 0) == 0)
    }

    // MARK: Content

    @Test func aFileGivesItsBytesInAnyPieces() throws {
        try self.folder.write(self.content, to: "x")
        for byteCount in [1, 2, 3, 7, 64, 4096] {
            let reader = try self.source("x").open(at: 195_000)
            #expect(try readAll(reader, inPiecesOf: byteCount) == Array(self.content.suffix(5000)))
        }
        #expect(try readAll(self.source("x").open()) == self.content)
        #expect(try readAll(FileSource(url: URL(fileURLWithPath: self.folder.path("x"))).open()) == self.content)
    }

    @Test func aFileIsReadFromAnyOffset() throws {
        try self.folder.write(self.content, to: "x")
        let byteCount = self.content.count
        for byteOffset in [0, 1, 4095, 4096, 65536, byteCount - 1, byteCount] {
            let reader = try self.source("x").open(at: Int64(byteOffset))
            #expect(try readAll(reader) == Array(self.content.dropFirst(byteOffset)))
        }
        for byteOffset in [-1, Int64(byteCount) + 1, .max, .min] {
            let error = try #require(throws: BlobError.self) { try self.source("x").open(at: byteOffset) }
            #expect(error.code == .invalidArgument)
        }
    }

    @Test func filesOfNoAndOneByteAreLikeAnyOther() throws {
        for bytes: [UInt8] in [[], [42]] {
            try self.folder.write(bytes, to: "x")
            let info = try self.source("x").info()
            #expect(info.byteCount == Int64(bytes.count))
            #expect(info.name == "x")
            #expect(info.validator != nil)
            let reader = try self.source("x").open(matching: info.validator)
            #expect(reader.info == info)
            #expect(try read(reader) == bytes)
            for _ in 0..<3 { #expect(try read(reader) == []) }
            #expect(try read(self.source("x").open(at: Int64(bytes.count))) == [])
            #expect(throws: BlobError.self) { try self.source("x").open(at: Int64(bytes.count) + 1) }
        }
    }

    @Test func offsetsBeyondFourGiBAreRight() throws {
        let marker = Array("marker".utf8)
        let file = try File(self.folder.path("sparse"), O_RDWR | O_CREAT)
        try file.truncate(to: 5_000_000_100)
        try file.write(marker, at: 5_000_000_000)
        try file.write(marker, at: 1 << 32 - 3)
        file.close()
        let source = self.source("sparse")
        #expect(try source.info().byteCount == 5_000_000_100)
        #expect(try readAll(source.open(at: 5_000_000_000)) == marker + Array(repeating: 0, count: 94))
        #expect(try read(source.open(at: 1 << 32 - 3), upTo: 6) == marker)
        #expect(try read(source.open(at: 1 << 32), upTo: 4) == Array("ker".utf8) + [0])
        #expect(try source.slice(5_000_000_003..<5_000_000_006).data(upTo: 3) == Data("ker".utf8))
        let reader = try source.open(at: 4_999_999_998)
        #expect(try read(reader, upTo: 3) == [0, 0, UInt8(ascii: "m")])
        #expect(reader.byteOffset == 5_000_000_001)
        #expect(throws: BlobError.self) { try source.open(at: 5_000_000_101) }
    }

    @Test func readersOfOneFileAreIndependent() throws {
        try self.folder.write(self.content, to: "x")
        let source = self.source("x")
        let (first, second) = (try source.open(), try source.open(at: 100_000))
        for start in stride(from: 0, to: 100_000, by: 20_000) {
            #expect(try read(first, upTo: 20_000) == Array(self.content[start..<(start + 20_000)]))
            #expect(try read(second, upTo: 20_000) == Array(self.content[(start + 100_000)..<(start + 120_000)]))
        }
        first.close()
        #expect(try read(second) == [])
        #expect(source.traits == [.repeatable, .concurrentReaders])
        let readings = try (0..<4).map { _ in BackgroundReading(try source.open()) }
        for reading in readings { #expect(try reading.result()?.get() == self.content) }
    }

    // MARK: Change

    @Test func aFileThatShrinksWhileItIsReadIsChanged() throws {
        for byteCount: Int64 in [0, 1000, 65536, 199_999] {
            try self.folder.write(self.content, to: "x")
            let reader = try self.source("x").open()
            #expect(try read(reader) == Array(self.content.prefix(65536)))
            #expect(truncate(self.folder.path("x"), off_t(byteCount)) == 0)
            let error = try #require(throws: BlobError.self) { try readAll(reader) }
            #expect(error.code == .changed)
            #expect(error.byteOffset == 65536)
            #expect(error.operation == "read")
            #expect(throws: error) { try read(reader) }
            #expect(reader.byteOffset == 65536)
        }
    }

    @Test func aFileThatShrinksBehindItsLastByteIsChangedBeforeTheEnd() throws {
        try self.folder.write([1, 2, 3], to: "x")
        let reader = try self.source("x").open()
        #expect(try read(reader) == [1, 2, 3])
        #expect(truncate(self.folder.path("x"), 1) == 0)
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .changed)
    }

    /// 4,096 bytes of those that were delivered are kept for the comparison.
    @Test(arguments: [1, 4095, 4096, 4097, 8192, 8193, 65536]) func aLargerFileThatTookItsPlaceIsChanged(
        pieceByteCount: Int
    ) throws {
        for pieceCount in [1, 2, 3] {
            try self.writeOldFile("x", self.content)
            let reader = try self.source("x").open()
            for _ in 0..<pieceCount { #expect(try read(reader, upTo: pieceByteCount).count == pieceByteCount) }
            // As `cp` does it: emptied, then written from the start.
            try self.folder.write(self.content.map { ~$0 } + [1, 2, 3], to: "x")
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .changed)
            #expect(error.byteOffset == Int64(pieceCount * pieceByteCount))
        }
    }

    @Test func aFileIsComparedAgainEachTimeThatItGrew() throws {
        try self.writeOldFile("x", self.content)
        let reader = try self.source("x").open()
        let file = try File(self.folder.path("x"), O_WRONLY)
        defer { file.close() }
        var all: [UInt8] = []
        for round in 0..<3 {
            all += try read(reader, upTo: 1000)
            try file.write([1], at: Int64(self.content.count + round))
        }
        reader.skip(5000)
        all += try read(reader, upTo: 10)
        #expect(all == Array(self.content[..<3000]) + self.content[8000..<8010])
        // The bytes before those that were passed over are no longer what is compared.
        try file.write([~self.content[2999]], at: 2999)
        try file.write([1], at: Int64(self.content.count + 3))
        #expect(try read(reader, upTo: 10) == Array(self.content[8010..<8020]))
        try file.write([~self.content[8015]], at: 8015)
        try file.write([1], at: Int64(self.content.count + 4))
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .changed)
    }

    @Test func aRewriteOfTheSameSizeIsChanged() throws {
        for growth in [FileSource.GrowthPolicy.snapshot, .strict] {
            try self.writeOldFile("x", self.content)
            let reader = try self.source("x", growth: growth).open()
            #expect(try read(reader, upTo: 10) == Array(self.content.prefix(10)))
            let file = try File(self.folder.path("x"), O_WRONLY)
            try file.write([~self.content[100_000]], at: 100_000)
            file.close()
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .changed)
            #expect(error.isTransient)
            #expect(error.byteOffset == 10)
        }
    }

    /// Small reads in a row are served from 16 KiB that were read at once, after which the change is found.
    @Test func smallReadsDeliverOnlyBytesOfTheSnapshot() throws {
        for growth in [FileSource.GrowthPolicy.snapshot, .strict] {
            try self.writeOldFile("x", self.content)
            let reader = try self.source("x", growth: growth).open()
            var bytes: [UInt8] = []
            for _ in 0..<6 { bytes += try read(reader, upTo: 1000) }
            let file = try File(self.folder.path("x"), O_WRONLY)
            try file.write(self.content.map { ~$0 }, at: 0)
            file.close()
            let error = try #require(throws: BlobError.self) {
                while bytes.count < 50_000 { bytes += try read(reader, upTo: 1000) }
            }
            #expect(error.code == .changed)
            #expect(bytes.count == 4000 + 16384)
            #expect(bytes.elementsEqual(self.content.prefix(bytes.count)))
        }
    }

    @Test func smallReadsOfAFileThatGrowsEndAtTheLengthItHad() throws {
        try self.folder.write(self.content, to: "log")
        let reader = try self.source("log").open()
        var bytes: [UInt8] = []
        let log = try File(self.folder.path("log"), O_WRONLY | O_APPEND)
        while case let piece = try read(reader, upTo: 1500), !piece.isEmpty {
            bytes += piece
            if bytes.count % 15_000 == 0 { try log.write([1, 2, 3]) }
        }
        #expect(bytes == self.content)
    }

    /// The time of modification is all that tells a rewrite of the same size from no rewrite.
    @Test func aTouchedFileIsChanged() throws {
        for growth in [FileSource.GrowthPolicy.snapshot, .strict] {
            try self.writeOldFile("x", self.content)
            let reader = try self.source("x", growth: growth).open()
            #expect(try read(reader, upTo: 10) == Array(self.content.prefix(10)))
            try #require(utimensat(AT_FDCWD, self.folder.path("x"), nil, 0) == 0)
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .changed)
        }
    }

    /// A reader waits up to 50 ms for an append to become one.
    @Test func theWaitForAnAppendCanBeCancelled() throws {
        var code: BlobError.Code?
        // On a busy machine the cancellation may come too late.
        for _ in 0..<20 where code != .cancelled {
            try self.writeOldFile("x", self.content)
            let context = BlobContext()
            let reader = try self.source("x").open(context: context)
            try #require(utimensat(AT_FDCWD, self.folder.path("x"), nil, 0) == 0)
            let timer = context.wake(after: .milliseconds(20), BlobWaker { context.cancellation.cancel() })
            code = #expect(throws: BlobError.self) { try read(reader) }?.code
            timer.cancel()
        }
        #expect(code == .cancelled)
    }

    @Test func theWaitForAnAppendEndsAtTheDeadline() throws {
        try self.writeOldFile("x", self.content)
        let context = BlobContext(deadline: .now.advanced(by: .milliseconds(20)))
        let error = try #require(throws: BlobError.self) {
            let reader = try self.source("x").open(context: context)
            try #require(utimensat(AT_FDCWD, self.folder.path("x"), nil, 0) == 0)
            _ = try read(reader)
        }
        #expect(error.code == .timedOut)
    }

    @Test func aFileThatGrowsIsReadToTheLengthItHad() throws {
        try self.folder.write(self.content, to: "log")
        let reader = try self.source("log").open()
        #expect(try read(reader) == Array(self.content.prefix(65536)))
        let log = try File(self.folder.path("log"), O_WRONLY | O_APPEND)
        try log.write([1, 2, 3])
        #expect(try read(reader) == Array(self.content[65536..<131_072]))
        try log.write([4, 5, 6])
        log.close()
        #expect(try readAll(reader) == Array(self.content.dropFirst(131_072)))
        #expect(try read(reader) == [])
        #expect(try self.source("log").info().byteCount == 200_006)
    }

    @Test func anEmptyFileThatGrowsStaysEmptyForItsReader() throws {
        try self.folder.write([], to: "log")
        let reader = try self.source("log").open()
        try self.folder.write([1], to: "log")
        #expect(try read(reader) == [])
    }

    @Test func aFileThatGrowsIsChangedWhereThatMatters() throws {
        for readBefore in [0, 10, self.content.count] {
            try self.folder.write(self.content, to: "x")
            let reader = try self.source("x", growth: .strict).open()
            while reader.byteOffset < readBefore {
                _ = try read(reader, upTo: readBefore - Int(reader.byteOffset))
            }
            let file = try File(self.folder.path("x"), O_WRONLY | O_APPEND)
            try file.write([1])
            file.close()
            let error = try #require(throws: BlobError.self) { try readAll(reader) }
            #expect(error.code == .changed)
            #expect(error.byteOffset == Int64(readBefore))
        }
    }

    @Test func aFileThatIsReplacedIsReadToItsOldEnd() throws {
        try self.folder.write(self.content, to: "x")
        let reader = try self.source("x", growth: .strict).open()
        #expect(try read(reader, upTo: 10) == Array(self.content.prefix(10)))
        try self.folder.write([1, 2, 3], to: "new")
        #expect(rename(self.folder.path("new"), self.folder.path("x")) == 0)
        #expect(try readAll(reader) == Array(self.content.dropFirst(10)))
        #expect(try readAll(self.source("x").open()) == [1, 2, 3])
    }

    @Test func aFileThatIsRemovedIsReadToItsEnd() throws {
        try self.folder.write(self.content, to: "x")
        let reader = try self.source("x", growth: .strict).open()
        #expect(try read(reader, upTo: 10) == Array(self.content.prefix(10)))
        #expect(unlink(self.folder.path("x")) == 0)
        #expect(try readAll(reader) == Array(self.content.dropFirst(10)))
        let error = try #require(throws: BlobError.self) { try self.source("x").open() }
        #expect(error.code == .notFound)
    }

    @Test func theValidatorTellsOneContentFromAnother() throws {
        try self.writeOldFile("x", [1, 2, 3])
        try self.writeOldFile("other", [1, 2, 3])
        let source = self.source("x")
        let validator = try #require(try source.info().validator)
        // The size in bytes, the time of modification in nanoseconds since 1970, and the inode.
        let numbers = validator.token.split(separator: "-").compactMap { Int64($0) }
        #expect(numbers.count == 3 && numbers.starts(with: [3, 1_000_000_000_000_000_005]) && numbers[2] > 0)
        #expect(!validator.isStrong)
        #expect(try readAll(source.open(matching: validator)) == [1, 2, 3])
        #expect(try self.source("other").info().validator != validator)

        try self.folder.write([4, 5, 6], to: "x")
        let error = try #require(throws: BlobError.self) { try source.open(matching: validator) }
        #expect(error.code == .changed)
        #expect(error.operation == "open")
        #expect(throws: BlobError.self) { try source.open(matching: .strong("x")) }
        #expect(try readAll(source.open()) == [4, 5, 6])
    }

    // MARK: Descriptors

    @Test func openingAndClosingLeavesNoDescriptor() throws {
        try self.folder.write([1, 2, 3], to: "x")
        try self.folder.write([], to: "empty")
        try self.folder.makeFIFO("fifo")
        let (source, empty) = (self.source("x"), self.source("empty"))
        let here = FileSource(path: self.folder.path)
        let kept = try source.open()
        for round in 0..<1000 {
            let reader = try source.open()
            if round.isMultiple(of: 2) { reader.close() }  // The others are let go of.
            _ = try empty.info()
            #expect(throws: BlobError.self) { try source.open(at: 4) }
            #expect(throws: BlobError.self) { try source.open(matching: .strong("other")) }
            #expect(throws: BlobError.self) { try here.open() }
            _ = try self.source("fifo").open()
        }
        #expect(openDescriptorCount(below: self.folder.path) == 1)
        kept.close()
        kept.close()
        #expect(openDescriptorCount(below: self.folder.path) == 0)
        #expect(throws: BlobError.self) { try read(kept) }
    }

    @Test func tooManyOpenFilesIsATransientError() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            try folder.write([1, 2, 3], to: "x")
            try folder.makeFIFO("fifo")
            let source = FileSource(path: folder.path("x"))
            let waiting = try FileSource(path: folder.path("fifo")).open()
            let free = try File(folder.path("x"), O_RDONLY)
            free.close()
            let limit = setDescriptorLimit(UInt(free.descriptor))
            let opening = #expect(throws: BlobError.self) { try source.open() }
            let waitError = #expect(throws: BlobError.self) { try read(waiting) }
            let info = try source.info()
            _ = setDescriptorLimit(limit)
            for error in [opening, waitError] {
                #expect(error?.code == .io)
                #expect(error?.systemErrorNumber == EMFILE)
                #expect(error?.isTransient == true)
            }
            #expect(info.byteCount == 3)
            #expect(try readAll(source.open()) == [1, 2, 3])
        }
    }
}
