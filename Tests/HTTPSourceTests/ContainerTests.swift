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

    /// A server that withholds answers to requests for bytes in a range until so many of these requests have come.
    private static func server(_ bytes: [UInt8], withholding count: Int, in range: Locked<Range<Int>>) throws
        -> ObjectServer
    {
        let arrived = BlobObservable(0)
        return try ObjectServer(bytes) { _, request, _ in
            guard let asked = request.range(in: bytes.count), range.withLock({ $0.contains(asked.lowerBound) })
            else { return false }
            arrived.update { $0 += 1 }
            try? arrived.wait(BlobContext()) { $0 >= count ? () : nil }
            return false
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func membersOfAZipAreRequestedTogether(isByPattern: Bool) throws {
        let bytes = try Self.zip(ofMembers: 3000)
        // The directory is in the last MiB.
        let server = try Self.server(bytes, withholding: 23, in: Locked(65_536..<bytes.count - 1 << 20))
        let archive = try BlobArchive(BlobLocator(server.url), registry: .standard)
        let numbers = stride(from: 2300, to: 0, by: -100).map(\.self)
        var found: Set<UInt32> = []
        func read(_ source: any BlobInputStreamDataSource) throws {
            let member = try readAll(source.open())
            #expect(member.count == 2000)
            found.insert(member.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
        }
        if isByPattern {
            try archive.forEachSource(where: { numbers.contains($0.index) }, BlobContext()) { member, source in
                if numbers.contains(member.index) { try read(source) }
            }
        } else {

            try archive.forEachSource(of: numbers.map { .index($0) }) { try read($1) }
        }
        #expect(found == Set(numbers.map(UInt32.init)))
        #expect(server.requests.count <= 4 + numbers.count, "\(server.requests.map { $0.fields["range"] ?? "" })")
        #expect(server.sentByteCount < 1_300_000)
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

    @Test(.timeLimit(.minutes(1)), arguments: ["gzip", "xz"])
    func rangesOfCompressedBytesAreRequestedTogether(_ tool: String) async throws {
        let plain = makeContent(24 << 20)
        let folder = try TemporaryFolder()
        let options = tool == "gzip" ? ["-1", "-c"] : ["-0", "-c", "--block-size=1MiB"]
        let compressed = try FinishedProcess(tool, options + [folder.write(plain, to: "plain")]).output
        let context = BlobContext(index: .file(folder.path("index")))
        let withheld = Locked(0..<0)
        let server = try Self.server(Array(compressed), withholding: 6, in: withheld)
        let source = try BlobRegistry.standard.source(for: "\(tool)+\(server.url)", context: context)
        _ = try readAll(source.open(context: context))
        #expect(try source.info(context).isRandomAccess)
        _ = try source.open(at: Int64(plain.count) - 1, context: context).bytes(atMost: 1)
        withheld.withLock { $0 = 65_536..<compressed.count - 1 << 20 }
        let ranges = (1...8).map { number -> Range<Int64> in
            let start = Int64(number) * (5 << 19)
            return start..<start + 1000
        }
        var count = 0
        for try await bytes in source.read(ranges: ranges, context: context) {
            #expect(Array(bytes) == Array(plain[Int(ranges[count].lowerBound)..<Int(ranges[count].upperBound)]))
            count += 1
        }
        #expect(count == 8)
    }
}
