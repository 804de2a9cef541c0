import BlobDeflate
import BlobIndex
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite struct IndexFaultTests {
    private static let points: [UInt8] = [1, 2, 3, 4, 5]
    private static let members: [UInt8] = Array("members".utf8)

    /// A file with two sections, one of which is not checked at opening.
    private static func makeIndex(in folder: TemporaryFolder) throws -> IndexFile {
        let index = try folder.index()
        try index.write(
            [
                NewIndexSection(.points, bytes: Self.points),
                NewIndexSection(.members, flags: .hasOwnChecks, bytes: Self.members),
            ], for: .sample)
        return index
    }

    /// Whatever is found must be right; whole sections with a checksum are.
    private static func expectRightOrNothing(_ index: IndexFile, _ what: @autoclosure () -> String) throws {
        if let section = try index.section(.points, for: .sample) {
            #expect(try section.bytes() == Self.points, "\(what())")
        }
        if let section = try index.section(.members, for: .sample) {
            let bytes = try? section.bytes()
            #expect(bytes == nil || bytes == Self.members, "\(what())")
        }
    }

    @Test func everyFlippedBitIsSeen() throws {
        let folder = try TemporaryFolder()
        let index = try Self.makeIndex(in: folder)
        let bytes = try read(index.path)
        var found = 0
        for bit in 0..<(bytes.count * 8) {
            let damaged = bytes.flipping(bit: bit)
            try write(damaged, to: index.path)
            try Self.expectRightOrNothing(index, "bit \(bit)")
            found += try index.section(.points, for: .sample) == nil ? 0 : 1
        }
        // Only the other section's payload may change without a loss of this one.
        #expect(found == Self.members.count * 8)
    }

    @Test func everyTruncationIsSeen() throws {
        let folder = try TemporaryFolder()
        let index = try Self.makeIndex(in: folder)
        let bytes = try read(index.path)
        for count in 0..<bytes.count {
            try write(Array(bytes[..<count]), to: index.path)
            #expect(try index.section(.points, for: .sample) == nil)
            #expect(try index.section(.members, for: .sample) == nil)
            #expect(index.sections() == [])
        }
        try write(bytes + [0], to: index.path)
        #expect(try index.section(.points, for: .sample) == nil)
    }

    @Test func aDamagedFileIsReplacedAndItsWholeSectionsStay() throws {
        let folder = try TemporaryFolder()
        let index = try Self.makeIndex(in: folder)
        let bytes = try read(index.path)
        for byteOffset in bytes.indices {
            let damaged = bytes.flipping(0xFF, at: byteOffset)
            try write(damaged, to: index.path)
            try index.write([NewIndexSection(.points, bytes: [9])], for: .sample)
            #expect(try index.section(.points, for: .sample)?.bytes() == [9])
            if let section = try index.section(.members, for: .sample) { #expect(try section.bytes() == Self.members) }
        }
    }

    @Test func aCutFileThatIsOpenIsAnErrorAndNoTrap() throws {
        let folder = try TemporaryFolder()
        let index = try Self.makeIndex(in: folder)
        let section = try #require(try index.section(.members, for: .sample))
        #expect(truncate(index.path, 10) == 0)
        #expect((#expect(throws: BlobError.self) { try section.bytes() })?.code == .corrupted)
        #expect((#expect(throws: BlobError.self) { try section.read(at: 0, count: 1) })?.code == .corrupted)
    }

    @Test func anotherVersionIsAMiss() throws {
        let folder = try TemporaryFolder()
        let index = try Self.makeIndex(in: folder)
        var bytes = try read(index.path)
        bytes[8] = 1
        var sum = CRC32()
        bytes[..<12].withUnsafeBytes { sum.update($0) }
        bytes.replaceSubrange(12..<16, with: withUnsafeBytes(of: sum.value.littleEndian) { Array($0) })
        try write(bytes, to: index.path)
        #expect(try index.section(.points, for: .sample) == nil)
        try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        #expect(index.sections().map(\.key) == [.points])
    }

    @Test func whatIsNoIndexIsNotOverwritten() throws {
        let folder = try TemporaryFolder()
        let letter = folder.path("letter.txt")
        try write(Array("Dear reader".utf8), to: letter)
        for path in [letter, folder.path, "/dev/null"] {
            let index = try #require(IndexFile(.file(path), for: nil))
            #expect(try index.section(.points, for: .sample) == nil)
            let error = #expect(throws: BlobError.self) {
                try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
            }
            #expect(error?.code == .inconsistent)
            #expect((#expect(throws: BlobError.self) { try index.remove() })?.code == .inconsistent)
        }
        #expect(try read(letter) == Array("Dear reader".utf8))
        #expect(folder.names == ["letter.txt"])
    }

    @Test func anEmptyFileMayBecomeAnIndex() throws {
        let folder = try TemporaryFolder()
        try folder.write([], to: "x")
        let index = try #require(IndexFile(.file(folder.path("x")), for: nil))
        try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        #expect(try index.section(.points, for: .sample)?.bytes() == [1])
    }

    @Test func aFIFOInTheWayDoesNotMakeAnybodyWait() throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder.path("x"), 0o600) == 0)
        let index = try #require(IndexFile(.file(folder.path("x")), for: nil))
        #expect(index.sections() == [])
        let error = #expect(throws: BlobError.self) { try index.write([], for: .sample) }
        #expect(error?.code == .inconsistent)
    }

    @Test func aFailureWhileWritingLeavesEverythingAsItWas() throws {
        let folder = try TemporaryFolder()
        let index = try Self.makeIndex(in: folder)
        let names = folder.names
        let bytes = try read(index.path)
        let error = #expect(throws: BlobError.self) {
            try index.write(
                [
                    NewIndexSection(.points) { sink throws(BlobError) in
                        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 100_000, alignment: 1)
                        defer { bytes.deallocate() }
                        bytes.initializeMemory(as: UInt8.self, repeating: 1)
                        try sink(UnsafeRawBufferPointer(bytes))
                        throw BlobError(.io, "No space left.")
                    }
                ], for: .sample)
        }
        #expect(error?.code == .io)
        #expect(folder.names == names)
        #expect(try read(index.path) == bytes)
    }

    @Test func aFolderThatCannotBeWrittenIsATypedError() throws {
        let folder = try TemporaryFolder()
        try folder.write([1], to: "file")
        for path in [folder.path("file/below"), "/proc/nowhere"] {
            let policy = BlobIndexPolicy.folder(path, maximumByteCount: 1000)
            let index = try #require(IndexFile(policy, for: BlobLocator("file:///a")))
            let error = #expect(throws: BlobError.self) {
                try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
            }
            #expect(error?.operation == "write")
            #expect(error?.systemErrorNumber != nil)
        }
    }
}
