import BlobStreams
import BlobTestSupport
import BlobTransfer
import CryptoDigest
import Foundation
import Testing

/// Downloads that are interrupted, and go on.
@Suite(.timeLimit(.minutes(5))) struct DownloadTests {
    private static let mebibyte = 1 << 20
    private static let content = makeContent(5 * mebibyte + 17)

    /// A content whose reading breaks at an offset, and which notes where it was read.
    private final class Origin: Sendable {
        let bytes: [UInt8]
        let info: BlobInfo
        private let end: Int?
        private let reads = Locked<[Range<Int64>]>([])

        init(_ bytes: [UInt8] = content, _ validator: BlobValidator? = .strong("one"), breaksAt end: Int? = nil) {
            (self.bytes, self.end) = (bytes, end)
            self.info = BlobInfo(byteCount: Int64(bytes.count), validator: validator, isRandomAccess: true)
        }

        var source: some BlobInputStreamDataSource {
            ClosureSource(info: self.info) { byteOffset, output, _ in
                let rest = self.bytes[Int(byteOffset)...].prefix(min(output.freeCapacity, 100_000))
                if let end = self.end, Int(byteOffset) >= end { throw BlobError(.io, "It broke.") }
                let count = min(rest.count, (self.end ?? .max) - Int(byteOffset))
                for byte in rest.prefix(count) { output.append(byte, as: UInt8.self) }
                self.reads.withLock { $0.append(byteOffset..<byteOffset + Int64(count)) }
            }
        }

        /// The number of bytes that were read in blocks that begin at these offsets.
        func readByteCount(in range: Range<Int>) -> Int {
            let range = Int64(range.lowerBound)..<Int64(range.upperBound)
            return self.reads.withLock { $0.reduce(0) { $0 + $1.clamped(to: range).count } }
        }

        var readByteCount: Int { self.readByteCount(in: 0..<self.bytes.count) }
    }

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.path("file")
    }

    @discardableResult
    private func download(_ origin: Origin, _ choose: (inout BlobDownloadOptions) -> Void = { _ in }) throws -> Int64 {
        var options = BlobDownloadOptions()
        choose(&options)
        return try origin.source.write(to: URL(fileURLWithPath: self.path), resuming: options)
    }

    private func code(_ origin: Origin, _ choose: (inout BlobDownloadOptions) -> Void = { _ in }) -> BlobError.Code? {
        codeThrown { try self.download(origin, choose) }
    }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: self.folder.path)) ?? [] }

    private func expect(_ bytes: [UInt8], _ location: SourceLocation = #_sourceLocation) throws {
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: self.path))) == bytes, sourceLocation: location)
        #expect(self.names == ["file"], sourceLocation: location)
    }

    @Test(arguments: [0, 1, mebibyte - 1, mebibyte, mebibyte + 1, 3 * mebibyte])
    func everyLengthIsWritten(byteCount: Int) throws {
        let origin = Origin(Array(Self.content.prefix(byteCount)))
        #expect(try self.download(origin) == Int64(byteCount))
        try self.expect(origin.bytes)
        #expect(origin.readByteCount == byteCount)
    }

    /// No block that is there is read again, and no file has its name before it is whole.
    @Test func itGoesOnWhereItWas() throws {
        for end in [Self.mebibyte, 2 * Self.mebibyte + 5, Self.content.count - 1] {
            #expect(self.code(Origin(breaksAt: end)) == .io)
            #expect(!self.names.contains("file"))
        }
        let last = Origin()
        try self.download(last)
        try self.expect(last.bytes)
        #expect(last.readByteCount == Self.content.count - 5 * Self.mebibyte)
    }

    @Test func otherContentIsNotMixedIn() throws {
        let other = Array(Self.content.reversed())
        let broken = Origin(breaksAt: 3 * Self.mebibyte)
        for validator in [BlobValidator.strong("two"), .weak("one"), nil] {
            #expect(self.code(broken) == .io)
            #expect(self.code(Origin(other, validator)) == .changed, "\(String(describing: validator))")
            #expect(self.names.count == 2)
        }
        try self.download(Origin(other, .strong("two"))) { $0.restartsIfChanged = true }
        try self.expect(other)
    }

    /// The bytes before a gap are compared where only a date tells what the content is.
    @Test func aWeakValidatorIsNotBelieved() throws {
        #expect(self.code(Origin(Self.content, .weak("date"), breaksAt: 3 * Self.mebibyte)) == .io)
        #expect(self.code(Origin(Array(Self.content.reversed()), .weak("date"))) == .changed)
        let same = Origin(Self.content, .weak("date"))
        try self.download(same)
        try self.expect(same.bytes)
        #expect(same.readByteCount == Self.content.count - 3 * Self.mebibyte + 4096)
    }

    @Test func aDamagedBlockIsReadAgainAlone() throws {
        #expect(self.code(Origin(breaksAt: 4 * Self.mebibyte)) == .io)
        let part = try FileHandle(forUpdating: URL(fileURLWithPath: self.path + ".blob-part"))
        try part.seek(toOffset: UInt64(Self.mebibyte + 100))
        try part.write(contentsOf: [1, 2, 3])
        try part.close()
        let last = Origin()
        try self.download(last)
        try self.expect(last.bytes)
        #expect(last.readByteCount(in: 0..<4 * Self.mebibyte) == Self.mebibyte)
    }

    /// A system that loses power may leave any part of the record, and of the file.
    @Test func aRecordThatIsCutAnywhereIsReadAsFarAsItGoes() throws {
        #expect(self.code(Origin(breaksAt: 4 * Self.mebibyte)) == .io)
        let (part, record) = (self.path + ".blob-part", self.path + ".blob-part.record")
        let (bytes, lines) = try (
            Data(contentsOf: URL(fileURLWithPath: part)), Data(contentsOf: URL(fileURLWithPath: record))
        )
        for count in Set([0, 1, lines.count / 2, lines.count - 30] + (lines.count - 25...lines.count)) {
            for partByteCount in [0, bytes.count / 2, bytes.count] {
                try lines.prefix(count).write(to: URL(fileURLWithPath: record))
                try bytes.prefix(partByteCount).write(to: URL(fileURLWithPath: part))
                try self.download(Origin())
                try self.expect(Self.content)
            }
        }
    }

    @Test func wrongDigestsLeaveNothing() throws {
        let right = CryptoDigest.sha256.digest(of: Self.content)
        let wrong = BlobStatedDigest("sha256", right.reversed(), origin: "a list")
        #expect(self.code(Origin()) { $0.digests = [wrong] } == .checksumMismatch)
        #expect(self.names.isEmpty)
        let digest = BlobStatedDigest("sha256", right, origin: "a list")
        try self.download(Origin()) { $0.digests = [digest] }
        try self.expect(Self.content)
        // The same file is there.
        let unread = Origin()
        try self.download(unread) { $0.digests = [digest] }
        #expect(unread.readByteCount == 0)
    }

    @Test func twoDownloadsDoNotWriteOneFile() throws {
        let (isInside, mayEnd) = (Latch(), Latch())
        let source = ClosureSource(info: Origin().info) { byteOffset, output, _ in
            isInside.open()
            mayEnd.wait()
            throw BlobError(.io, "It broke.")
        }
        let (path, ended) = (self.path, Latch())
        Thread.detachNewThread {
            _ = try? source.write(to: URL(fileURLWithPath: path), resuming: BlobDownloadOptions())
            ended.open()
        }
        isInside.wait()
        #expect(self.code(Origin()) == .unavailable)
        mayEnd.open()
        ended.wait()
        try self.download(Origin())
        try self.expect(Self.content)
    }
}
