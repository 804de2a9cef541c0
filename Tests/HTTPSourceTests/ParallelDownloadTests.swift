import BlobStreamsStandard
import BlobTestSupport
import CryptoDigest
import Foundation
import HTTPTestSupport
import Testing

@testable import BlobTransfer

/// Downloads over several connections, each of which reads one long part.
@Suite(.timeLimit(.minutes(5))) struct ParallelDownloadTests {
    private static let mebibyte = 1 << 20
    private static let content = makeContent(24 * mebibyte + 17)
    /// The length of the parts of four connections: a quarter of the content, to whole blocks.
    private static let part = 7 * mebibyte

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.path("file")
    }

    private func download(
        _ server: ObjectServer, _ context: BlobContext = BlobContext(),
        _ choose: (inout BlobDownloadOptions) -> Void = { _ in }
    ) throws {
        var options = BlobDownloadOptions()
        choose(&options)
        try HTTPSource(server.url).write(to: URL(fileURLWithPath: self.path), resuming: options, context: context)
    }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: self.folder.path)) ?? [] }

    private func expect(_ bytes: [UInt8], _ location: SourceLocation = #_sourceLocation) throws {
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: self.path))) == bytes, sourceLocation: location)
        #expect(self.names == ["file"], sourceLocation: location)
    }

    /// The first bytes of the ranges that were requested, in order.
    private func starts(_ server: ObjectServer, _ byteCount: Int = content.count) -> [Int] {
        server.requests.compactMap { $0.range(in: byteCount)?.lowerBound }.sorted()
    }

    @Test func eachConnectionReadsOnePart() throws {
        let server = try ObjectServer(Self.content)
        try self.download(server)
        try self.expect(Self.content)
        let starts = self.starts(server)
        #expect(Set(starts).isSuperset(of: [0, Self.part, 2 * Self.part, 3 * Self.part]))
        // The first one asks for the facts; a connection that is done may take half of a rest.
        #expect(starts.count <= 5 + 4)
    }

    @Test func asManyConnectionsReadAsThereMayBe() throws {
        let (content, mayAnswer) = (makeContent(42 * Self.mebibyte), Latch())
        let waiting = Locked(0)
        // Fourteen parts of 3 MiB; no part is answered before all were requested.
        let server = try ObjectServer(content) { number, request, _ in
            guard let range = request.range(in: content.count), range.count > 1 << 20 else { return false }
            if waiting.withLock({ count in
                count += 1; return count
            }) == 14 {
                mayAnswer.open()
            }
            mayAnswer.wait()
            return false
        }
        try self.download(server) { $0.connectionCount = 16 }
        try self.expect(content)
    }

    @Test(arguments: [nil, "W/\"weak\""])
    func withoutAStrongValidatorOneConnectionReads(tag: String?) throws {
        var object = ObjectServer.Object(Self.content)
        (object.tag, object.date) = (tag, "Wed, 01 Oct 2025 10:00:00 GMT")
        let server = try ObjectServer(object)
        try self.download(server)
        try self.expect(Self.content)
        #expect(!self.starts(server).contains(Self.part))
    }

    @Test func aDigestOfTheWholeIsCompared() throws {
        let digest = Data(CryptoDigest.sha256.digest(of: Self.content)).base64EncodedString()
        var object = ObjectServer.Object(Self.content)
        object.lines = ["Repr-Digest: sha-256=:\(digest):"]
        let checks = Recorder<String?>()
        let context = BlobContext(eventSink: { event in
            if event.kind == .verified || event.kind == .unverified { checks.append(event.check) }
        })
        try self.download(try ObjectServer(object), context)
        try self.expect(Self.content)
        #expect(checks.values == ["SHA-256 (Repr-Digest)"])
        try FileManager.default.removeItem(atPath: self.path)
        object.bytes[20 * Self.mebibyte] ^= 1
        let server = try ObjectServer(object)
        #expect(codeThrown { try self.download(server) } == .checksumMismatch)
        #expect(self.names.isEmpty)
    }

    /// Of what was read, at most a block of each connection is read again.
    @Test func anInterruptedDownloadReadsOnlyWhatIsMissing() throws {
        let isBroken = Locked(true)
        let server = try ObjectServer(Self.content) { _, request, connection in
            guard isBroken.withLock({ $0 }), let range = request.range(in: Self.content.count),
                range.lowerBound >= Self.part
            else { return false }
            let (head, body) = ObjectServer.answer(request, ObjectServer.Object(Self.content))
            connection.send(head)
            connection.send(Array(body.prefix(3 * Self.mebibyte + 5)))
            return true
        }
        #expect(codeThrown { try self.download(server) } == .truncated)
        #expect(self.names.sorted() == ["file.blob-part", "file.blob-part.record"])
        _ = isBroken.exchange(false)
        let before = server.sentByteCount
        try self.download(server)
        try self.expect(Self.content)
        // The parts that broke had 3 MiB each, and what the first one had is not counted.
        #expect(server.sentByteCount - before <= Self.content.count - 9 * Self.mebibyte + 4 * Self.mebibyte)
    }

    @Test func aConnectionThatIsDoneTakesHalfOfTheLongestPart() throws {
        let isTaken = Latch()
        let server = try ObjectServer(Self.content) { _, request, connection in
            guard let range = request.range(in: Self.content.count), range.count > Self.mebibyte else { return false }
            guard range.lowerBound == 0 else {
                if range.lowerBound < Self.part { isTaken.open() }
                return false
            }
            // Nothing after the first block, until another connection asks for it.
            let (head, body) = ObjectServer.answer(request, ObjectServer.Object(Self.content))
            connection.send(head)
            connection.send(Array(body.prefix(Self.mebibyte)))
            isTaken.wait()
            connection.send(Array(body.dropFirst(Self.mebibyte)))
            return true
        }
        try self.download(server)
        try self.expect(Self.content)
    }

    /// Others read what a server refuses to one connection too many.
    @Test func fewerConnectionsDo() throws {
        let (firsts, refused) = (Locked(0), Latch())
        let server = try ObjectServer(Self.content) { _, request, connection in
            guard let range = request.range(in: Self.content.count), range.count > Self.mebibyte else { return false }
            let number = firsts.withLock { count in
                count += 1
                return count
            }
            guard number > 2, !refused.isOpen else { return false }
            if number == 4 { refused.open() }
            connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        try self.download(server)
        try self.expect(Self.content)
        #expect(refused.isOpen)
    }

    @Test func contentThatChangesBetweenPartsIsNotMixed() throws {
        var other = ObjectServer.Object(Array(Self.content.reversed()))
        other.tag = "\"two\""
        let (first, server) = (Latch(), Locked<ObjectServer?>(nil))
        let changing = try ObjectServer(Self.content) { [other] _, request, _ in
            guard let range = request.range(in: Self.content.count), range.count > Self.mebibyte else { return false }
            if range.lowerBound == 0 {
                first.open()
            } else {
                first.wait()
                server.withLock { $0?.object = other }
            }
            return false
        }
        _ = server.exchange(changing)
        #expect(codeThrown { try self.download(changing) } == .changed)
        #expect(!self.names.contains("file"))
        try self.download(changing) { $0.restartsIfChanged = true }
        try self.expect(other.bytes)
    }

    /// More than the 64 MiB after which the file and its record are synchronised.
    @Test func longContentIsWhole() throws {
        let content = makeContent(70 * Self.mebibyte + 1)
        try self.download(try ObjectServer(content))
        try self.expect(content)
    }
}
