import BlobStreamsStandard
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// Digests that a server states, and bodies that are not those it means.
///
/// `BLOBSTREAMS_FLIPS` is the number of bodies with one wrong bit, for each statement and way of reading.
@Suite(.timeLimit(.minutes(20))) struct StatedDigestTests {
    /// A field that states a digest.
    enum Statement: String, CaseIterable {
        case reprSHA256 = "Repr-Digest: sha-256="
        case reprSHA512 = "Repr-Digest: md5=:AAAA:, sha-512="
        case digest = "Digest: SHA-256="
        case contentDigest = "Content-Digest: sha-256="
        case contentMD5 = "Content-MD5: "
        case crc32 = "x-amz-checksum-crc32: "
        case crc32c = "x-amz-checksum-crc32c: "
        case crc64 = "x-amz-checksum-crc64nvme: "
        case sha1 = "x-amz-checksum-sha1: "
        case sha256 = "x-amz-checksum-sha256: "
        case googleCRC = "x-goog-hash: crc32c="
        case googleMD5 = "x-goog-hash: md5="

        /// True for the digest of the body of one answer.
        var isOfBody: Bool { self == .contentDigest }

        /// True when the digests of two pieces give that of both.
        var combines: Bool { [.crc32, .crc32c, .crc64, .googleCRC].contains(self) }

        /// The ways of reading in which it is believed: servers disagree on what `Content-MD5` is of in ranges.
        var ways: [Way] {
            self == .contentMD5 ? [.whole] : Way.allCases.filter { !$0.isMixed || self.combines || self.isOfBody }
        }

        func line(_ bytes: ArraySlice<UInt8>) -> String {
            let value =
                switch self {
                case .reprSHA256, .digest, .contentDigest, .sha256: Self.hash(bytes, .sha256)
                case .reprSHA512: Self.hash(bytes, .sha512)
                case .contentMD5, .googleMD5: Self.hash(bytes, .md5)
                case .sha1: Self.hash(bytes, .sha1)
                case .crc32: Self.sum(bytes, 0xEDB8_8320, byteCount: 4)
                case .crc32c, .googleCRC: Self.sum(bytes, 0x82F6_3B78, byteCount: 4)
                case .crc64: Self.sum(bytes, 0x9A6C_9329_AC4B_C9B5, byteCount: 8)
                }
            let text = Data(value).base64EncodedString()
            let hasColons = [.reprSHA256, .reprSHA512, .contentDigest].contains(self)
            return self.rawValue + (hasColons ? ":\(text):" : text)
        }

        private static func hash(_ bytes: ArraySlice<UInt8>, _ digest: CryptoDigest) -> [UInt8] {
            var hasher = digest.makeHasher()
            bytes.withUnsafeBytes { hasher.update($0) }
            return hasher.finalize()
        }

        /// A checksum bit by bit, as its standard defines it.
        private static func sum(_ bytes: ArraySlice<UInt8>, _ polynomial: UInt64, byteCount: UInt64) -> [UInt8] {
            let ones = UInt64.max >> (64 - 8 * byteCount)
            let table = (0..<256 as Range<UInt64>).map { byte in
                (0..<8).reduce(byte) { value, _ in value >> 1 ^ (value & 1 == 1 ? polynomial : 0) }
            }
            let sum = ones ^ bytes.reduce(ones) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
            return (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
        }
    }

    /// A way of reading.
    enum Way: CaseIterable {
        /// In ranges.
        case ranges
        /// From a server without ranges.
        case whole
        /// From a server that cuts each long answer off.
        case resumed
        /// In small reads.
        case small
        /// In ranges in random order.
        case shuffled
        /// In ranges by several threads.
        case parallel

        /// True when no pass has all bytes.
        var isMixed: Bool { self == .shuffled || self == .parallel }
    }

    private static let right = makeContent(300_000)

    /// Makes a server of `sent`, which states the digest of the right content.
    private static func server(_ statement: Statement, _ way: Way, _ sent: [UInt8]) throws -> ObjectServer {
        var object = ObjectServer.Object(sent)
        object.hasRanges = way != .whole
        let whole = statement.line(Self.right[...])
        return try ObjectServer(object) { [object] _, request, connection in
            let (head, body) = ObjectServer.answer(request, object)
            let line = statement.isOfBody ? statement.line(Self.right[body.startIndex..<body.endIndex]) : whole
            connection.send("\(head.dropLast())\(line)\r\nConnection: close\r\n\r\n")
            connection.send(Array(way == .resumed && body.count > 100_000 ? body.prefix(70_001) : body))
            return true
        }
    }

    private static func read(_ server: ObjectServer, _ way: Way, _ context: BlobContext = BlobContext()) throws
        -> [UInt8]
    {
        let source = try HTTPSource(server.url).layered { $0.retry = .impatient }
        return try (ReadingWay(rawValue: "\(way)") ?? .whole).read(source, context)
    }

    @Test(arguments: Statement.allCases.flatMap { statement in statement.ways.map { (statement, $0) } })
    func theRightBytesPassAndOneWrongBitDoesNot(statement: Statement, way: Way) async throws {
        let count: Int = environmentNumber("BLOBSTREAMS_FLIPS") ?? 4
        try await onThread {
            let checks = Locked<[String?]>([])
            var context = BlobContext()
            context.eventSink = { event in
                if event.layer == "http" { checks.withLock { $0.append(event.check) } }
            }
            #expect(try Self.read(Self.server(statement, way, Self.right), way, context) == Self.right)
            let field = try #require(statement.rawValue.split(separator: ":").first)
            // Of answers that were proven one by one, a pass that began in the middle reports nothing.
            if !statement.isOfBody || way != .resumed && !way.isMixed {
                #expect(checks.withLock { $0 }.count == 1, "\(statement) \(way)")
                #expect(checks.withLock { $0 }.first??.hasSuffix("(\(field))") == true)
            }

            var random = SplitMix64(seed: 39)
            for number in 0..<count {
                // The first and the last bit, and others at random.
                let bit =
                    [0, Self.right.count * 8 - 1]
                    .dropFirst(number).first ?? Int.random(in: 0..<Self.right.count * 8, using: &random)
                var wrong = Self.right
                wrong[bit / 8] ^= 1 << (bit % 8)
                let events = Locked<[String]>([])
                var context = BlobContext()
                context.eventSink = { event in
                    if event.kind != .bytes { events.withLock { $0.append("\(event.kind) \(event.value)") } }
                }
                let error = #expect(throws: BlobError.self, "\(statement) \(way) \(bit) \(events.withLock { $0 })") {
                    try Self.read(Self.server(statement, way, wrong), way, context)
                }
                #expect(error?.code == .checksumMismatch, "\(bit)")
            }
        }
    }

    /// A digest that does not combine cannot be compared in ranges in any order, which is reported, and can in ranges that
    /// follow each other.
    @Test func whatCannotBeComparedIsReported() async throws {
        try await onThread {
            let server = try Self.server(.reprSHA256, .ranges, Self.right)
            let checks = Locked<[String?]>([])
            var context = BlobContext()
            context.eventSink = { event in checks.withLock { $0.append(event.check) } }
            #expect(try Self.read(server, .shuffled, context) == Self.right)
            #expect(checks.withLock { $0 } == [nil])

            var wrong = Self.right
            wrong[299_000] ^= 1
            let other = try Self.server(.reprSHA256, .ranges, wrong)
            let source = try HTTPSource(other.url)
            let first = try source.slice(0..<200_000).data(upTo: 200_000, context: context)
            #expect(first == Data(Self.right.prefix(200_000)))
            let code = codeThrown { try source.slice(200_000..<300_000).data(upTo: 200_000, context: context) }
            #expect(code == .checksumMismatch)
        }
    }

    /// Ranges of one call, of which each has a cancellation of its own.
    @Test(arguments: [false, true]) func rangesOfOneCallAreOneJob(isWrong: Bool) async throws {
        var sent = Self.right
        if isWrong { sent[70_000] ^= 4 }
        let server = try Self.server(.crc64, .ranges, sent)
        let checks = Locked<[String?]>([])
        let context = BlobContext(eventSink: { event in checks.withLock { $0.append(event.check) } })
        var bytes: [Int: Data] = [:]
        // The first two overlap.
        let ranges: [Range<Int64>] = [150_000..<250_000, 200_000..<300_000, 0..<50_000, 50_000..<150_000]
        let code = await asyncCodeThrown {
            for try await piece in try HTTPSource(server.url).read(ranges: ranges, context: context) {
                bytes[bytes.count] = piece
            }
        }
        #expect(code == (isWrong ? .checksumMismatch : nil) && bytes.count == (isWrong ? 3 : 4))
        #expect(checks.withLock { $0 } == (isWrong ? [] : ["CRC-64/NVME (x-amz-checksum-crc64nvme)"]))
    }

    /// What a user asks for is asked for alone.
    @Test func theUsersWishComesFirst() async throws {
        try await onThread {
            let server = try ObjectServer(Self.right)
            var options = HTTPSource.Options()
            options.headers = [("want-repr-digest", "md5=1")]
            _ = try HTTPSource(server.url, options: options).info()
            #expect(server.requests[0].fields["want-repr-digest"] == "md5=1")
            _ = try HTTPSource(server.url).info()
            #expect(server.requests[1].fields["want-repr-digest"] == "sha-256=2, sha-512=1")
        }
    }

    /// What a server decodes for an answer has the digest of the bytes that it stores; what it states for parts only, or
    /// in another form, is none.
    @Test(arguments: [
        "x-goog-hash: crc32c=AAAAAA==\r\nx-goog-stored-content-encoding: gzip",
        "x-amz-checksum-crc32c: AAAAAA==\r\nx-amz-checksum-type: COMPOSITE", "x-amz-checksum-crc32c: AAAAAA==-3",
        "Repr-Digest: sha-256=:AAAA:", "Repr-Digest: unixsum=:AAAA:, =, sha-256", "Digest: SHA-256=%%%%",
        "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==",
    ])
    func whatIsNoDigestOfTheBytesIsNotCompared(lines: String) async throws {
        try await onThread {
            let server = try ObjectServer(Self.right)
            server.object.lines = [lines]
            #expect(try Self.read(server, .ranges) == Self.right)
            #expect(try HTTPSource(server.url).info().digests == [])
        }
    }
}
