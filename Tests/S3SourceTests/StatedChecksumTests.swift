import BlobStreamsStandard
import BlobTestSupport
import BlobTransfer
import Foundation
import HTTPTestSupport
import Testing

@testable import S3Source

/// The checksums of a store that states them where AWS does: with HEAD and whole objects, and only to those who ask.
///
/// `BLOBSTREAMS_FLIPS` is the number of bodies with one wrong bit, for each checksum and way of reading.
@Suite(.timeLimit(.minutes(20))) struct StatedChecksumTests {
    /// The checksum of an object.
    enum Kind: Equatable, Sendable {
        case whole(StatedAlgorithm)
        /// Of parts with this many bytes.
        case composite(StatedAlgorithm, Int)
        /// The ETag.
        case tag

        var combines: Bool {
            switch self {
            case .whole(let algorithm), .composite(let algorithm, _): algorithm.sum != nil
            case .tag: false
            }
        }

        static let all: [Self] =
            [.crc32, .crc32c, .crc64nvme, .sha1, .sha256].map(Self.whole) + [
                .tag, .composite(.crc32, 70_001), .composite(.crc32c, 150_000), .composite(.sha1, 100_000),
                .composite(.sha256, 100_000),
            ]
    }

    private static let right = makeContent(300_000)

    private static func digest(_ algorithm: StatedAlgorithm, _ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var hasher = algorithm.makeHasher()
        bytes.withUnsafeBytes { hasher?.update($0) }
        return hasher?.finalize() ?? []
    }

    private static func base64(_ algorithm: StatedAlgorithm, _ bytes: [UInt8]) -> String {
        Data(self.digest(algorithm, bytes[...])).base64EncodedString()
    }

    /// A store of `sent`, which has the checksums of the right content.
    ///
    /// - Parameters:
    ///   - isCut: True to cut long answers off.
    ///   - listed: The number of parts in a list.
    ///   - damage: Changes the list of the parts.
    private static func store(
        _ kind: Kind, _ sent: [UInt8], isCut: Bool = false, listed: Int = 2,
        damage: @escaping @Sendable (String) -> String? = { $0 }
    ) throws -> VerifyingStore {
        var (lines, parts): ([String], [String]) = ([], [])
        switch kind {
        case .whole(let algorithm):
            lines = [
                "x-amz-checksum-\(algorithm.rawValue): \(self.base64(algorithm, self.right))",
                "x-amz-checksum-type: FULL_OBJECT",
            ]
        case .composite(let algorithm, let byteCount):
            let pieces = stride(from: 0, to: self.right.count, by: byteCount).map {
                self.right[$0..<min($0 + byteCount, self.right.count)]
            }
            let name = "Checksum\(algorithm.rawValue.uppercased())"
            parts = pieces.enumerated().map { number, piece in
                let text = Self.base64(algorithm, Array(piece))
                return "<Part><PartNumber>\(2 * number + 1)</PartNumber><Size>\(piece.count)</Size>"
                    + "<\(name)>\(text)</\(name)></Part>"
            }
            let all = self.base64(algorithm, pieces.flatMap { self.digest(algorithm, $0) })
            lines = [
                "x-amz-checksum-\(algorithm.rawValue): \(all)-\(pieces.count)", "x-amz-checksum-type: COMPOSITE",
            ]
        case .tag: break
        }
        let tag = kind == .tag ? "\"\(self.digest(.md5, self.right[...]).hexadecimal)\"" : "\"one-3\""
        var object = ObjectServer.Object(sent)
        object.tag = tag
        let store = try VerifyingStore(sent) { [object, lines, parts] _, request, connection in
            if request.target.hasSuffix("?attributes=") {
                let marker = request.fields["x-amz-part-number-marker"].flatMap { Int($0) } ?? 0
                let list = parts.dropFirst((marker + 1) / 2).prefix(listed).joined()
                guard request.fields["x-amz-object-attributes"] == "ObjectParts",
                    let text = damage("<Response><ObjectParts>\(list)</ObjectParts></Response>")
                else {
                    connection.send(VerifyingStore.refusal("403 Forbidden", "AccessDenied"))
                    return true
                }
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
                return true
            }
            let isAsked = request.fields["x-amz-checksum-mode"] == "ENABLED" && request.fields["range"] == nil
            let (head, body) = ObjectServer.answer(request, object)
            let more = (isAsked ? lines : []) + ["Connection: close", "\r\n"]
            connection.send(head.dropLast() + more.joined(separator: "\r\n"))
            guard request.method != "HEAD" else { return true }
            connection.send(Array(isCut && body.count > 100_000 ? body.prefix(70_001) : body))
            return true
        }
        return store
    }

    private struct Check: Equatable {
        let byteCount: Int64
        let check: String?
    }

    /// Reads all bytes; returns them, and what was reported.
    private static func read(_ store: VerifyingStore, _ way: ReadingWay) throws -> (bytes: [UInt8], checks: [Check]) {
        let checks = Locked<[Check]>([])
        var context = BlobContext()
        context.eventSink = { event in
            if event.layer == "s3" { checks.withLock { $0.append(Check(byteCount: event.value, check: event.check)) } }
        }
        let bytes = try way.read(store.source().layered { $0.retry = .impatient }, context)
        return (bytes, checks.withLock { $0 })
    }

    @Test(arguments: Kind.all, ReadingWay.allCases + [nil])
    func theRightBytesPassAndOneWrongBitDoesNot(kind: Kind, way: ReadingWay?) async throws {
        let isMixed = way == .shuffled || way == .parallel
        guard kind.combines || !isMixed else { return }
        let count: Int = environmentNumber("BLOBSTREAMS_FLIPS") ?? 3
        try await onThread {
            // Without a way, from a store that cuts long answers off.
            let (bytes, checks) = try Self.read(Self.store(kind, Self.right, isCut: way == nil), way ?? .whole)
            #expect(bytes == Self.right)
            #expect(checks.count == 1 && checks.first?.check != nil && checks.first?.byteCount == 300_000)
            if case .composite = kind { #expect(checks.first?.check?.hasSuffix(" parts)") == true) }

            var random = SplitMix64(seed: 40)
            for _ in 0..<count {
                let bit = Int.random(in: 0..<Self.right.count * 8, using: &random)
                var wrong = Self.right
                wrong[bit / 8] ^= 1 << (bit % 8)
                let store = try Self.store(kind, wrong, isCut: way == nil)
                #expect(codeThrown { try Self.read(store, way ?? .whole) } == .checksumMismatch, "\(kind) \(bit)")
            }
        }
    }

    /// One request more for an object that is read from its start and whose ETag is not the MD5, and one for each list of
    /// its parts; none for a range in the middle.
    @Test func asFewRequestsAreMadeAsTheChecksumsNeed() async throws {
        func methods(_ kind: Kind, _ byteOffset: Int64) async throws -> [String] {
            try await onThread {
                let store = try Self.store(kind, Self.right)
                let reader = try store.source().open(at: byteOffset)
                defer { reader.close() }
                _ = try BlobTestSupport.read(reader)
                return store.server.requests.map { "\($0.method)\($0.target.contains("attributes") ? " parts" : "")" }
            }
        }
        #expect(try await methods(.whole(.sha256), 0) == ["GET", "HEAD"])
        #expect(try await methods(.composite(.sha256, 100_000), 0) == ["GET", "HEAD", "GET parts", "GET parts"])
        #expect(try await methods(.tag, 0) == ["GET"])
        #expect(try await methods(.whole(.sha256), 100_000) == ["GET"])
    }

    /// Of a store that refuses to tell, or tells what is not right, nothing is believed.
    @Test(arguments: [
        nil, "", "<a/>", "<Size>", "<Checksum", "<PartNumber>", "100000", "AA",
    ]) func partsThatAreNotRightAreNotCompared(damage: String?) async throws {
        try await onThread {
            let store = try Self.store(.composite(.sha256, 100_000), Self.right, listed: 9) { list in
                switch damage {
                case nil: nil
                case "AA":
                    list.replacing(
                        /<ChecksumSHA256>[^<]*/, with: "<ChecksumSHA256>\(Data(count: 32).base64EncodedString())")
                case "100000": list.replacing("<Size>100000", with: "<Size>99999")
                case let damage? where damage.hasSuffix("/>") || damage.isEmpty: damage
                case let damage?: list.replacing(damage, with: "<x>")
                }
            }
            let (bytes, checks) = try Self.read(store, .whole)
            #expect(bytes == Self.right && checks == [Check(byteCount: 300_000, check: nil)])
        }
    }

    /// Neither a refusal of HEAD nor silence ends the reading, and the object of another moment states nothing.
    @Test(arguments: ["refused", "silent", "changed"]) func aStoreThatDoesNotTellIsRead(kind: String) async throws {
        try await onThread {
            let store = try VerifyingStore(Self.right) { _, request, connection in
                guard request.method == "HEAD" else { return false }
                switch kind {
                case "refused": connection.send(VerifyingStore.refusal("403 Forbidden", "AccessDenied"))
                case "silent": connection.waitForEnd()
                default:
                    connection.send("HTTP/1.1 200 OK\r\nETag: \"two\"\r\nx-amz-checksum-crc32: AAAAAA==\r\n\r\n")
                }
                return true
            }
            let (bytes, checks) = try Self.read(store, .whole)
            #expect(bytes == Self.right && checks == [Check(byteCount: 300_000, check: nil)])
            #expect(store.server.requests.count { $0.method == "HEAD" } == 1)
        }
    }

    /// Cancelling does not wait for the store.
    @Test func aSearchEndsWithItsReader() async throws {
        let (asked, ended) = (Latch(), Latch())
        let store = try VerifyingStore(Self.right) { _, request, connection in
            guard request.method == "HEAD" else { return false }
            asked.open()
            connection.waitForEnd()
            ended.open()
            return true
        }
        let context = BlobContext()
        let reading = Task {
            // The source ends with its reading.
            let source = try store.source()
            return try await onThread { try source.info(context) }
        }
        try await onThread { asked.wait() }
        context.cancellation.cancel()
        #expect(await asyncCodeThrown { try await reading.value } == .cancelled)
        try await onThread { ended.wait() }
    }
}
