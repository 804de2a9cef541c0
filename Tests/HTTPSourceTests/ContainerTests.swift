import ArchiveSource
import BlobStreams
import BlobStreamsStandard
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

/// What reading within archives costs at the server.
@Suite struct ContainerTests {
    /// A zip with so many deflated members, of 2,000 bytes that do not get smaller.
    private static func zip(ofMembers count: Int) throws -> [UInt8] {
        let script = """
            import random, sys, zipfile
            random.seed(14)
            with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as zip:
                for number in range(\(count)):
                    zip.writestr(f'folder/member-{number:05}.bin', number.to_bytes(4, 'big') + random.randbytes(1996))
            """
        let folder = try TemporaryFolder()
        let made = try FinishedProcess("python3", ["-c", script, folder.path("x.zip")])
        #expect(made.status == 0, "\(made.errors)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: folder.path("x.zip"))))
    }

    @Test func aMemberOfAZipCostsFourRequestsAndAListThree() throws {
        let bytes = try Self.zip(ofMembers: 10_000)
        #expect(bytes.count > 20 << 20)
        let server = try ObjectServer(bytes)
        let registry = BlobRegistry.standard
        let container = try registry.container(for: BlobLocator(server.url))
        var count = 0
        try container.forEachMember(BlobContext()) { _ in
            count += 1
            return true
        }
        #expect(count == 10_000)
        #expect(server.requests.count <= 3, "\(server.requests.map { $0.fields["range"] ?? "" })")
        #expect(server.sentByteCount < 2 << 20)

        let other = try ObjectServer(bytes)
        let member = try registry.source(for: "\(other.url)#folder/member-05000.bin")
        let found = try readAll(member.open())
        #expect(found.prefix(4) == [0, 0, 0x13, 0x88] && found.count == 2000)
        #expect(other.requests.count <= 4, "\(other.requests.map { $0.fields["range"] ?? "" })")
        #expect(other.sentByteCount < 2 << 20)
    }

    /// A gzip is decoded once for its index, and then read where an offset is.
    @Test func aGzipSeeksByItsIndex() throws {
        let plain = makeContent(24 << 20)
        let folder = try TemporaryFolder()
        let gzipped = try FinishedProcess("gzip", ["-1", "-c", folder.write(plain, to: "plain")]).output
        let server = try ObjectServer(Array(gzipped))
        let index = folder.path("index")
        let context = BlobContext(index: .file(index))
        let source = try BlobRegistry.standard.source(for: "gzip+\(server.url)", context: context)
        #expect(try source.info(context).byteCount == nil)
        #expect(try readAll(source.open(context: context)) == plain)
        let (requests, sent) = (server.requests.count, server.sentByteCount)
        // Both ends and 32 parts in between identify the content of an index; all of it is read in pieces of 2 MiB.
        #expect(requests <= 4 + 32 + gzipped.count / (2 << 20), "\(server.requests.map { $0.fields["range"] ?? "" })")
        let again = try BlobRegistry.standard.source(for: "gzip+\(server.url)", context: context)
        #expect(try again.info(context).isRandomAccess)
        let reader = try again.open(at: 20 << 20, context: context)
        var found: [UInt8] = []
        while found.count < 65_536, case let piece = try read(reader, upTo: 65_536), !piece.isEmpty { found += piece }
        #expect(plain[(20 << 20)...].starts(with: found))
        reader.close()
        let ranges = server.requests[requests...].map { $0.fields["range"] ?? "" }
        #expect(ranges.count <= 4, "\(ranges)")
        #expect(server.sentByteCount - sent < 2 << 20, "\(ranges)")
    }
}
