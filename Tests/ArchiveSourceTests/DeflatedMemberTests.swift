import BlobIndex
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import ArchiveSource

/// Large deflated members of zips: restart points of their own.
@Suite struct DeflatedMemberTests {
    /// Compressed to more than the 4 MiB from which members have an index.
    private static let bytes: Data = {
        var numbers = SplitMix64(seed: 13)
        return Data(
            (0..<(1 << 20)).flatMap { _ in withUnsafeBytes(of: numbers.next() & 0x3F3F_3F3F_3F3F_3F3F, Array.init) })
    }()

    private let folder: TemporaryFolder
    private let policy: BlobIndexPolicy
    private let file: FileSource

    /// The folder with the zips, which are made once: compressing takes seconds.
    private static let made = Result {
        let folder = try TemporaryFolder()
        try Self.bytes.write(to: folder.url("large"))
        let script = """
            import zipfile
            with zipfile.ZipFile('x.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
                archive.writestr('before', b'1')
                archive.write('large')
                archive.writestr('last', b'2')
            with zipfile.ZipFile('y.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
                archive.write('x.zip', compresslevel=1)
                archive.write('large')
            """
        try folder.run("python3", "-c", script)
        return folder
    }

    init() throws {
        self.folder = try TemporaryFolder()
        self.policy = .folder(self.folder.url("indexes").path, maximumByteCount: 1 << 30)
        for name in ["x.zip", "y.zip"] {
            try FileManager.default.copyItem(at: Self.made.get().url(name), to: self.folder.url(name))
        }
        self.file = FileSource(path: self.folder.url("x.zip").path)
    }

    private func member(
        _ name: String = "large", of base: (any BlobInputStreamDataSource)? = nil
    ) throws -> any BlobInputStreamDataSource {
        try ArchiveContainer(base ?? self.file, format: .zip, index: self.policy)
            .member(.name(Array(name.utf8)), context: BlobContext())
    }

    @Test func readingTheWholeMemberLeavesAnIndexForOffsets() async throws {
        try await onThread { () throws in
            #expect(try !self.member().info().isRandomAccess)
            #expect(try self.member().data(upTo: Self.bytes.count) == Self.bytes)
            let base = CountedSource(self.file)
            let member = try self.member(of: base)
            #expect(try member.info().isRandomAccess)
            for offset in [Self.bytes.count - 10, Self.bytes.count / 2, 1, Self.bytes.count] {
                let reader = try member.open(at: Int64(offset))
                defer { reader.close() }
                #expect(try read(reader, upTo: 10) == Array(Self.bytes.dropFirst(offset).prefix(10)))
            }
            #expect(base.byteCount < 5 << 20)
            #expect(try member.data(upTo: Self.bytes.count) == Self.bytes)
        }
    }

    @Test func theMemberWithAnIndexKeepsEveryContract() async throws {
        let member = try self.member()
        #expect(try await onThread { try (member as? any BlobIndexing)?.buildIndex(BlobContext()) } == true)
        expectNone(await violations(of: try self.member(), expecting: Self.bytes))
    }

    @Test func aMemberWithoutNeedForAnIndexHasNone() async throws {
        try await onThread { () throws in
            let small = try self.member("last")
            #expect(try (small as? any BlobIndexing)?.buildIndex(BlobContext()) == false)
            #expect(try small.data(upTo: 10) == Data("2".utf8))
        }
    }

    /// The checksum of the directory is compared with the bytes also when they come by restart points.
    @Test func aDamagedByteIsNoticedWithAnIndexAndWithout() async throws {
        try await onThread { () throws in
            _ = try (self.member() as? any BlobIndexing)?.buildIndex(BlobContext())
            var bytes = try Data(contentsOf: self.folder.url("x.zip"))
            let time = try FileManager.default.attributesOfItem(atPath: self.folder.url("x.zip").path)[
                .modificationDate]
            bytes[bytes.count / 2] ^= 0x40
            try bytes.write(to: self.folder.url("x.zip"))
            try FileManager.default.setAttributes(
                [.modificationDate: time ?? Date()], ofItemAtPath: self.folder.url("x.zip").path)
            for policy in [self.policy, .none] {
                let container = ArchiveContainer(self.file, format: .zip, index: policy)
                let member = try container.member(.name(Array("large".utf8)), context: BlobContext())
                let code = codeThrown { try member.data(upTo: Self.bytes.count) }
                #expect(
                    code == .checksumMismatch || code == .corrupted || code == .inconsistent || code == .sizeMismatch)
            }
        }
    }

    /// A wrong length or checksum in the directory and the local header: the data are right.
    @Test(arguments: [(14, 16, BlobError.Code.checksumMismatch), (22, 24, .sizeMismatch)])
    func theDirectoryIsComparedAlsoWithAnIndex(local: Int, central: Int, code: BlobError.Code) async throws {
        try await onThread { () throws in
            var bytes = try Data(contentsOf: self.folder.url("x.zip"))
            for (signature, offset) in [(Data([0x50, 0x4B, 3, 4]), local), (Data([0x50, 0x4B, 1, 2]), central)] {
                let first = try #require(bytes.range(of: signature))
                let second = try #require(bytes.range(of: signature, in: first.upperBound..<bytes.count))
                bytes[second.lowerBound + offset] ^= 1
            }
            try bytes.write(to: self.folder.url("x.zip"))
            for _ in 0..<2 {
                #expect(codeThrown { try self.member().data(upTo: Self.bytes.count + 1) } == code)
                _ = try (self.member() as? any BlobIndexing)?.buildIndex(BlobContext())
            }
        }
    }

    /// The local header and the directory state the same wrong compressed length.
    @Test(arguments: [-1000, -1, 1, 5, nil])
    func errorsOfTheCompressedBytesAreTheSameWithAnIndexAndWithout(lengthChange: Int?) async throws {
        try await onThread { () throws in
            var bytes = try Data(contentsOf: self.folder.url("x.zip"))
            if let lengthChange {
                for (signature, offset) in [(Data([0x50, 0x4B, 3, 4]), 18), (Data([0x50, 0x4B, 1, 2]), 20)] {
                    let first = try #require(bytes.range(of: signature))
                    let second = try #require(bytes.range(of: signature, in: first.upperBound..<bytes.count))
                    let place = second.lowerBound + offset..<second.lowerBound + offset + 4
                    let count = bytes[place].reversed().reduce(0) { $0 << 8 | Int($1) } + lengthChange
                    bytes.replaceSubrange(place, with: (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) })
                }
            } else {
                bytes.replaceSubrange(bytes.count / 2..<bytes.count / 2 + 100, with: repeatElement(0xFF, count: 100))
            }
            try bytes.write(to: self.folder.url("x.zip"))
            func error(_ policy: BlobIndexPolicy) throws -> BlobError? {
                let container = ArchiveContainer(self.file, format: .zip, index: policy)
                let member = try container.member(.name(Array("large".utf8)), context: BlobContext())
                return #expect(throws: BlobError.self) { try member.data(upTo: Self.bytes.count + 1) }
            }
            let (indexed, plain) = (try error(self.policy), try error(.none))
            #expect(indexed?.code == plain?.code && indexed?.message == plain?.message)
            #expect(indexed?.byteOffset == plain?.byteOffset && indexed?.locator == plain?.locator)
        }
    }

    @Test func aZipWithinADeflatedMemberWithAnIndexIsReadWithoutACopy() async throws {
        try await onThread { () throws in
            let outer = FileSource(path: self.folder.url("y.zip").path)
            let inner = try self.member("x.zip", of: outer)
            #expect(try (inner as? any BlobIndexing)?.buildIndex(BlobContext()) == true)
            var context = BlobContext()
            context.spoolLimit = 0
            let container = ArchiveContainer(try self.member("x.zip", of: outer), format: .zip)
            let last = try container.member(.name(Array("last".utf8)), context: context)
            #expect(try last.data(upTo: 10, context: context) == Data("2".utf8))
        }
    }

    @Test func theIndexOfAMemberIsVerified() async throws {
        try await onThread { () throws in
            let member = try self.member()
            #expect(try (member as? any BlobIndexing)?.buildIndex(BlobContext()) == true)
            let count = try (try self.member() as? any IndexVerifying)?.verifyIndex(BlobContext()) { fault in
                Issue.record("\(fault)")
            }
            #expect(count ?? 0 > 4)
        }
    }
}
