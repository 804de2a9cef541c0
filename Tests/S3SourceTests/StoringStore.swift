import BlobDeflate
import BlobStreamsStandard
import BlobTestSupport
import BlobTransfer
import Foundation

@testable import S3Source

/// A store in this process that verifies signatures and digests, keeps objects and parts, and fails as a test says.
final class StoringStore: Sendable {
    struct Request: Sendable {
        let method, path: String
        let query: [(name: String, value: String)]
        let fields: [String: String]
        var body: [UInt8] = []

        func parameter(_ name: String) -> String? { self.query.first { $0.name == name }?.value }

        /// The request as a line, for comparison.
        var line: String {
            let query = self.query.map { $0.value.isEmpty ? $0.name : "\($0.name)=\($0.value)" }
            return "\(self.method) \(self.path)" + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
        }
    }

    enum Reaction: Sendable {
        /// Answers as a store does.
        case serve
        /// Does as a store does, and closes the connection without an answer.
        case serveSilently
        /// Answers so, and does nothing.
        case answer(String)
    }

    struct State: Sendable {
        var objects: [String: (bytes: [UInt8], tag: String)] = [:]
        /// The parts of the uploads that are not complete.
        var uploads: [String: [Int: [UInt8]]] = [:]
        var requests: [Request] = []
        var beginCount = 0
        /// True for a store that compares and states checksums; another ignores them.
        var knowsChecksums = false
        /// A bit of each object that the store damages, and of each part; nil for none.
        var damagedBit: Int?
        /// True for entity tags that are no digests, as of objects that are encrypted.
        var hasOpaqueTags = false

        /// Returns bytes as they are stored.
        func kept(_ bytes: [UInt8]) -> [UInt8] {
            self.damagedBit.map { bytes.flipping(bit: $0 % (8 * bytes.count)) } ?? bytes
        }
    }

    /// Called with the number of each request, from 0, once it was received and before it is served.
    typealias Script = @Sendable (Int, Request) -> Reaction

    private let server: LoopbackServer
    private let state = Locked(State())
    private let script: Script
    private let maximumListCount: Int

    /// - Parameters:
    ///   - maximumListCount: The number of parts in each answer that lists them.
    ///   - state: The state at first.
    init(
        maximumListCount: Int = 2, state: State = State(),
        script: @escaping Script = { _, _ in .serve }
    ) throws {
        self.state.withLock { $0 = state }
        (self.server, self.script, self.maximumListCount) = (try LoopbackServer(), script, maximumListCount)
        self.server.start { [weak self] descriptor in
            var connection = StoreConnection(descriptor)
            while let request = connection.receive(), let answer = self?.answer(request) {
                connection.send(answer)
                if request.method == "GET", request.query.isEmpty, answer.hasPrefix("HTTP/1.1 200 ") {
                    connection.send(self?.objects[request.path] ?? [])
                }
            }
        }
    }

    var port: UInt16 { self.server.port }
    var connectionCount: Int { self.server.connectionCount }
    var object: [UInt8]? { self.state.withLock { $0.objects["/bucket/key"]?.bytes } }
    var objects: [String: [UInt8]] { self.state.withLock { $0.objects.mapValues(\.bytes) } }
    var uploads: [String: [Int: [UInt8]]] {
        get { self.state.withLock { $0.uploads } }
        set { self.state.withLock { $0.uploads = newValue } }
    }
    var requests: [Request] { self.state.withLock { $0.requests } }
    var lines: [String] { self.requests.map(\.line) }

    /// The numbers of the parts that were sent, in their order, with repetitions.
    var sentParts: [Int] {
        self.requests.compactMap { $0.method == "PUT" ? $0.parameter("partNumber").flatMap { Int($0) } : nil }.sorted()
    }

    /// The object with its tag, which a test replaces.
    var stored: (bytes: [UInt8], tag: String)? {
        get { self.state.withLock { $0.objects["/bucket/key"] } }
        set { self.state.withLock { $0.objects["/bucket/key"] = newValue } }
    }

    func forgetRequests() { self.state.withLock { $0.requests = [] } }

    /// An uploader with parts of 1,000 bytes, without pauses.
    func uploader(maximumCount: Int = 10_000) throws -> S3Uploader {
        let store = S3Service(
            try S3Endpoint("http://127.0.0.1:\(self.port)"), AccessKeyProvider(VerifyingStore.keys),
            region: "us-east-1", BlobTransferSettings())
        var uploader = S3Uploader(store)
        uploader.limits = PartLimits(
            minimumByteCount: 10, maximumByteCount: 100_000, maximumCount: maximumCount, roundingByteCount: 10)
        (uploader.partByteCount, uploader.singleByteCount) = (1000, 1000)
        uploader.retry.maximumDelays = .zero ... .milliseconds(1)
        return uploader
    }

    // MARK: Answers

    static func head(_ status: String, _ lines: [String] = [], byteCount: Int = 0) -> String {
        (["HTTP/1.1 \(status)"] + lines + ["Content-Length: \(byteCount)"]).joined(separator: "\r\n") + "\r\n\r\n"
    }

    static func document(_ text: String, status: String = "200 OK") -> String {
        let body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + text
        return self.head(status, byteCount: body.utf8.count) + body
    }

    static func error(_ code: String, _ status: String) -> String {
        self.document("<Error><Code>\(code)</Code><Message>No.</Message></Error>", status: status)
    }

    private func answer(_ request: Request) -> String? {
        let number = self.state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
        let reaction = self.script(number, request)
        if case .answer(let text) = reaction { return text }
        let answer = Self.refusal(request) ?? self.state.withLock { Self.serve(request, &$0, self.maximumListCount) }
        if case .serveSilently = reaction { return nil }
        return answer
    }

    private static func refusal(_ request: Request) -> String? {
        let fields = request.fields
        guard let authorization = fields["authorization"], let stamp = fields["x-amz-date"],
            let match = authorization.firstMatch(of: /SignedHeaders=([^,]+),/)
        else { return self.error("AccessDenied", "403 Forbidden") }
        let now = Int64(Date().timeIntervalSince1970)
        guard
            let time = (-60...60).lazy.map({ SigningTime(secondsSince1970: now + $0) }).first(where: {
                $0.text == stamp
            })
        else { return self.error("RequestTimeTooSkewed", "403 Forbidden") }
        let names = match.output.1.split(separator: ";").map(String.init)
        // What a store keeps, and what it checks, must be signed.
        let isSigned = fields.keys.allSatisfy {
            names.contains($0) || !$0.hasPrefix("x-amz-") && !$0.hasPrefix("content-") || $0 == "content-length"
        }
        var signed = SigV4Request(
            path: request.path, query: request.query, fields: names.map { BlobHTTPField($0, fields[$0] ?? "") })
        (signed.method, signed.payloadHash) = (request.method, fields["x-amz-content-sha256"] ?? "")
        let signer = SigV4Signer(keys: VerifyingStore.keys, region: "us-east-1")
        guard isSigned, signer.authorization(of: signed, at: time) == authorization else {
            return self.error("SignatureDoesNotMatch", "403 Forbidden")
        }
        guard self.digest(.sha256, request.body).hexadecimal == signed.payloadHash else {
            return self.error("XAmzContentSHA256Mismatch", "400 Bad Request")
        }
        let md5 = Data(self.digest(.md5, request.body)).base64EncodedString()
        return fields["content-md5"] ?? md5 == md5 ? nil : self.error("BadDigest", "400 Bad Request")
    }

    static func digest(_ digest: CryptoDigest, _ bytes: [UInt8]) -> [UInt8] {
        var hasher = digest.makeHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finalize()
    }

    private static func tag(_ bytes: [UInt8], _ state: State? = nil) -> String {
        let digest = self.digest(.md5, bytes).hexadecimal
        return state?.hasOpaqueTags == true ? "opaque-\(digest)" : digest
    }

    /// The CRC-64/NVME in base64.
    static func checksum(_ bytes: [UInt8]) -> String {
        var sum = CyclicSum(.crc64NVME)
        bytes.withUnsafeBytes { sum.update($0) }
        return Data(sum.finalize()).base64EncodedString()
    }

    private static func stored(_ bytes: [UInt8], _ state: State) -> String {
        let checksum = state.knowsChecksums ? ["x-amz-checksum-crc64nvme: \(self.checksum(bytes))"] : []
        return self.head("200 OK", ["ETag: \"\(self.tag(bytes, state))\""] + checksum)
    }

    private static func serve(_ request: Request, _ state: inout State, _ listCount: Int) -> String {
        let sum = request.fields["x-amz-checksum-crc64nvme"]
        let identifier = request.parameter("uploadId").map { $0.removingPercentEncoding ?? $0 }
        if state.knowsChecksums, request.method == "PUT", sum != self.checksum(request.body) {
            return self.error("BadDigest", "400 Bad Request")
        }
        if let identifier, state.uploads[identifier] == nil { return self.error("NoSuchUpload", "404 Not Found") }
        let parts = identifier.flatMap { state.uploads[$0] } ?? [:]
        switch (request.method, identifier) {
        case ("POST", nil):
            state.beginCount += 1
            let identifier = "an id/\(state.beginCount)&"
            state.uploads[identifier] = [:]
            let text = identifier.replacing("&", with: "&amp;")
            return self.document(
                "<InitiateMultipartUploadResult xmlns=\"x\"><UploadId>\(text)</UploadId></InitiateMultipartUploadResult>"
            )
        case ("PUT", let identifier?):
            guard let number = request.parameter("partNumber").flatMap({ Int($0) }) else { break }
            let bytes = state.kept(request.body)
            state.uploads[identifier]?[number] = bytes
            return self.stored(bytes, state)
        case ("PUT", nil):
            let bytes = state.kept(request.body)
            state.objects[request.path] = (bytes, self.tag(bytes, state))
            return self.stored(bytes, state)
        case ("GET", .some):
            let marker = request.parameter("part-number-marker").flatMap { Int($0) } ?? 0
            let rest = parts.keys.filter { $0 > marker }.sorted()
            let list = rest.prefix(listCount).map { number in
                "<Part><PartNumber>\(number)</PartNumber><ETag>&quot;\(self.tag(parts[number] ?? []))&quot;</ETag>"
                    + "<Size>\(parts[number]?.count ?? 0)</Size></Part>"
            }
            let next = rest.prefix(listCount).last ?? marker
            return self.document(
                "<ListPartsResult><NextPartNumberMarker>\(next)</NextPartNumberMarker>"
                    + "<IsTruncated>\(rest.count > listCount)</IsTruncated>\(list.joined())</ListPartsResult>")
        case ("DELETE", let identifier?):
            state.uploads[identifier] = nil
            return self.head("204 No Content")
        case ("POST", let identifier?):
            let wanted = parts.sorted { $0.key < $1.key }.map { number, bytes in
                "<Part><PartNumber>\(number)</PartNumber><ETag>\"\(self.tag(bytes, state))\"</ETag></Part>"
            }
            guard String(decoding: request.body, as: UTF8.self).contains(">\(wanted.joined())</Complete") else {
                return self.error("InvalidPart", "400 Bad Request")
            }
            let bytes = parts.sorted { $0.key < $1.key }.map(\.value)
            let digests = bytes.map { self.digest(.md5, $0) }
            let tag = "\(self.tag(Array(digests.joined()), state))-\(bytes.count)"
            let whole = Array(bytes.joined())
            // Stated by those that send it, and compared before anything is made.
            if state.knowsChecksums, sum != nil, sum != self.checksum(whole) {
                return self.error("BadDigest", "400 Bad Request")
            }
            state.objects[request.path] = (state.kept(whole), tag)
            state.uploads[identifier] = nil
            let stated = state.knowsChecksums ? self.checksum(state.kept(whole)) : nil
            let checksum = stated.map {
                "<ChecksumCRC64NVME>\($0)</ChecksumCRC64NVME><ChecksumType>FULL_OBJECT</ChecksumType>"
            }
            // Spaces keep the connection busy while a store works.
            return self.document(
                "  <CompleteMultipartUploadResult><ETag>\"\(tag)\"</ETag>\(checksum ?? "")</CompleteMultipartUploadResult>"
            )
        case ("HEAD", nil), ("GET", nil):
            guard let object = state.objects[request.path] else { break }
            // A store that encrypts has tags of another kind.
            let isDigest = object.tag == self.tag(object.bytes)
            let lines = ["ETag: \"\(object.tag)\""] + (isDigest ? [] : ["x-amz-server-side-encryption: aws:kms"])
            return self.head("200 OK", lines, byteCount: object.bytes.count)
        default: break
        }
        return self.head("404 Not Found")
    }
}
