import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Members that lie in the archive as they are: any offset at once, and archives within archives without a copy.
@Suite struct StoredMemberTests {
    /// More than the largest gap that is read and dropped, and than the buffers of all readers together.
    private static let byteCount = 8 << 20

    /// A tar with one large member, `name`, between two small ones.
    private static func tar(_ name: String, _ bytes: Data) throws -> Data {
        let folder = try TemporaryFolder()
        for (file, content) in [("before", Data("1".utf8)), (name, bytes), ("last", Data("2".utf8))] {
            try content.write(to: folder.url(file))
        }
        try folder.run("tar", "-cf", "x.tar", "before", name, "last")
        return try Data(contentsOf: folder.url("x.tar"))
    }

    /// A zip with a large stored member, `large`, and a small deflated one, `a.txt`.
    private static func storedZip(_ bytes: Data) throws -> Data {
        let folder = try TemporaryFolder()
        try bytes.write(to: folder.url("large"))
        try Data(String(repeating: "hello ", count: 100).utf8).write(to: folder.url("a.txt"))
        let script = """
            import zipfile
            with zipfile.ZipFile('x.zip', 'w') as archive:
                archive.write('large')
                archive.write('a.txt', compress_type=zipfile.ZIP_DEFLATED)
            """
        try folder.run("python3", "-c", script)
        return try Data(contentsOf: folder.url("x.zip"))
    }

    private static let large = Data((0..<byteCount).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) })
    private static let text = Data(String(repeating: "hello ", count: 100).utf8)

    @Test(arguments: [
        ("a.tar", ArchiveFormat.tar, "long/" + String(repeating: "n", count: 150)), ("gnu.tar", .tar, "last"),
    ])
    func membersOfATarKeepEveryContractAndHaveRandomAccess(
        file: String, format: ArchiveFormat, name: String
    ) async throws {
        let container = ArchiveContainer(MemorySource(try await Made.archive(file)), format: format)
        let source = try container.member(.name(name), context: BlobContext())
        #expect(try await onThread { try source.info().isRandomAccess })
        expectNone(await violations(of: source, expecting: name == "last" ? Data("the last".utf8) : Made.long))
    }

    @Test func storedMembersOfAZipKeepEveryContractAndHaveRandomAccess() async throws {
        let container = zip(try await Made.archive("a.zip"))
        let source = try container.member(.name("stored"), context: BlobContext())
        #expect(try await onThread { try source.info().isRandomAccess })
        expectNone(await violations(of: source, expecting: Data("as it is".utf8)))
        let deflated = try container.member(.name("big"), context: BlobContext())
        #expect(try await onThread { try !deflated.info().isRandomAccess })
    }

    @Test(arguments: [ArchiveFormat.tar, .zip]) func anOffsetCostsNoBytesBeforeIt(format: ArchiveFormat) async throws {
        try await onThread {
            let bytes = try format == .tar ? Self.tar("large", Self.large) : Self.storedZip(Self.large)
            let base = CountedSource(MemorySource(bytes))
            let source = try ArchiveContainer(base, format: format)
                .member(.name("large"), context: BlobContext())
            for offset in [Self.byteCount - 10, Self.byteCount / 2, Self.byteCount] {
                let reader = try source.open(at: Int64(offset))
                defer { reader.close() }
                #expect(try read(reader, upTo: 10) == Array(Self.large.dropFirst(offset).prefix(10)))
            }
            #expect(base.byteCount < 2 << 20)
            #expect(try source.data(upTo: Self.byteCount) == Self.large)
        }
    }

    @Test func aZipInATarIsNotCopied() async throws {
        try await onThread {
            let base = CountedSource(MemorySource(try Self.tar("in.zip", Self.storedZip(Self.large))))
            let inner = try ArchiveContainer(base, format: .tar)
                .member(.name("in.zip"), context: BlobContext())
            let text = try ArchiveContainer(inner, format: .zip).member(.name("a.txt"), context: BlobContext())
            #expect(try text.data(upTo: 1000) == Self.text)
            #expect(base.byteCount < 2 << 20)
        }
    }

    @Test func aZipInATarInAGzipWithAnIndexIsNotCopied() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let path = folder.path("x.tar.gz")
            try Self.tar("in.zip", Self.storedZip(Self.large)).write(to: folder.url("x.tar"))
            try folder.run("gzip", "-n", "x.tar")
            let file = CountedSource(FileSource(path: path))
            let gzip = GzipSource(file, index: .file(folder.path("index")))
            #expect(try gzip.buildIndex(BlobContext()))
            let decoded = CountedSource(gzip)
            let inner = try ArchiveContainer(decoded, format: .tar)
                .member(.name("in.zip"), context: BlobContext())
            let text = try ArchiveContainer(inner, format: .zip).member(.name("a.txt"), context: BlobContext())
            #expect(try text.data(upTo: 1000) == Self.text)
            #expect(decoded.byteCount < 3 << 20)
        }
    }

    /// A read from the beginning compares the checksum, also the second time, when the place is known already.
    @Test func aDamagedByteOfAStoredMemberIsNoticedEveryTime() async throws {
        try await onThread {
            var bytes = try Self.storedZip(Self.large.prefix(100_000))
            bytes[50_000] ^= 1
            let source = try ArchiveContainer(MemorySource(bytes), format: .zip)
                .member(.name("large"), context: BlobContext())
            for _ in 0..<3 {
                #expect(codeThrown { try source.data(upTo: 1 << 20) } == .checksumMismatch)
            }
        }
    }

    @Test func aTarThatEndsWithinAMemberIsTruncatedAtAnyOffset() async throws {
        try await onThread {
            let bytes = try Self.tar("large", Self.large).prefix(Self.byteCount / 2)
            let source = try ArchiveContainer(MemorySource(bytes), format: .tar)
                .member(.index(1), context: BlobContext())
            #expect(codeThrown { try source.data(upTo: Self.byteCount) } == .truncated)
            let reader = try source.open(at: Int64(Self.byteCount - 100))
            #expect(codeThrown { try read(reader) } == .truncated)
        }
    }

    @Test func aMemberIsFoundAgainWhenTheArchiveChanges() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let url = folder.url("x.tar")
            try Self.tar("large", Self.large.prefix(1000)).write(to: url)
            let source = try ArchiveContainer(FileSource(path: url.path), format: .tar)
                .member(.name("last"), context: BlobContext())
            #expect(try source.data(upTo: 10) == Data("2".utf8))
            try Self.tar("large", Self.large.prefix(5000)).write(to: url)
            #expect(try source.data(upTo: 10) == Data("2".utf8))
        }
    }
}
