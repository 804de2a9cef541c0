import BlobStreamsStandard
import BlobTestSupport
import Foundation
import HTTPTestSupport

/// A server of one file on 127.0.0.1, and the sources that read from it.
struct WebLine: Sendable {
    /// How a file is served, and read.
    enum Kind {
        /// By HTTP, with ranges, without them, and in chunks without a length.
        case ranges, withoutRanges, chunked
        /// By HTTP, over connections with faults, which the layers of the source survive.
        case faulty
        /// By a store that verifies signatures.
        case store
        /// By a store that refuses some requests, over connections with faults.
        case faultyStore
    }

    /// The rules of retry: bad luck is no failure of the source.
    private static let retry = BlobRetry(
        maximumFailureCount: 30, maximumDelays: .milliseconds(1)...(.milliseconds(5)))
    private static let credentials = (identifier: "AKIDSOAK", secret: "secret")

    private let kind: Kind
    private let server: ObjectServer
    private let proxy: FaultProxy?

    /// - Parameter seed: The seed of the faults.
    init(_ kind: Kind, _ bytes: [UInt8], seed: UInt64) throws {
        var object = ObjectServer.Object(bytes)
        object.hasRanges = kind != .withoutRanges && kind != .chunked
        object.isChunked = kind == .chunked
        let check = SignatureCheck(Self.credentials.identifier, secret: Self.credentials.secret)
        let script: ObjectServer.Script = { number, request, connection in
            switch kind {
            case .faultyStore where number % 8 == 7:
                connection.send(Self.refusal("503 Slow Down", "SlowDown"))
            case .store, .faultyStore:
                guard !check.accepts(request) else { return false }
                connection.send(Self.refusal("403 Forbidden", "SignatureDoesNotMatch"))
            case .ranges, .withoutRanges, .chunked, .faulty: return false
            }
            return true
        }
        let server = try ObjectServer(object, recordsRequests: false, script: script)
        (self.kind, self.server) = (kind, server)
        switch kind {
        case .faulty, .faultyStore:
            self.proxy = try FaultProxy(to: server.port) { Self.faults(seed &+ UInt64($0), of: bytes.count) }
        case .ranges, .withoutRanges, .chunked, .store: self.proxy = nil
        }
    }

    /// Makes a source with connections of the process, and a cache of its own.
    func source() throws -> any BlobInputStreamDataSource {
        let origin = "http://127.0.0.1:\(self.proxy?.port ?? self.server.port)"
        switch self.kind {
        case .ranges, .withoutRanges, .chunked: return try HTTPSource("\(origin)/file")
        case .faulty: return Self.layered(try HTTPSource("\(origin)/file"))
        case .store: return try Self.object(origin)
        case .faultyStore: return Self.layered(try Self.object(origin))
        }
    }

    private static func object(_ origin: String) throws -> S3Source {
        var options = S3Source.Options()
        (options.endpoint, options.region) = (origin, "us-east-1")
        options.credentials = .keys(identifier: self.credentials.identifier, secret: self.credentials.secret)
        return try S3Source("s3://bucket/a%20file", options: options)
    }

    private static func layered(_ source: some BlobInputStreamDataSource) -> any BlobInputStreamDataSource {
        source.layered {
            $0.retry = self.retry
            $0.idleLimit = .seconds(1)
        }
    }

    private static func refusal(_ status: String, _ code: String) -> String {
        let body = "<Error><Code>\(code)</Code></Error>"
        return "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// The faults of a connection: half of them are cut, some in a head, few stall, drip or are refused.
    private static func faults(_ seed: UInt64, of byteCount: Int) -> FaultProxy.ConnectionFaults {
        var random = SplitMix64(seed: seed)
        var faults = FaultProxy.ConnectionFaults()
        let place = Int64.random(in: 0...Int64(byteCount), using: &random)
        let inHead = Int64.random(in: 0...300, using: &random)
        faults.toClient.ending = Bool.random(using: &random) ? .end : .reset
        switch random.next() % 32 {
        case 0..<12: faults.toClient.cutOffset = place
        case 12..<15: faults.toClient.cutOffset = inHead
        case 15: faults.toServer.cutOffset = inHead
        case 16: faults.toClient.stallOffset = place
        case 17: faults.isRefused = true
        case 18..<20: faults.toClient.drip = (20_000, .milliseconds(1))
        case 20..<22: faults.toClient.latency = .milliseconds(3)
        default: break
        }
        return faults
    }
}

extension Measures {
    /// The number of threads of the servers in this process.
    static var serverThreadCount: Int { ObjectServer.openConnectionCount }
}

extension KnownBlob {
    /// The files that are served: in each kind, of each format that it can serve.
    private static let lines: [(file: String, kind: WebLine.Kind)] = [
        ("big", .ranges), ("small", .withoutRanges), ("small.gz", .chunked), ("big", .faulty), ("big.gz", .faulty),
        ("big.bgzf", .ranges), ("a.tar.gz", .withoutRanges), ("a.tar", .faulty), ("a.zip", .faulty), ("a.7z", .ranges),
        ("big.gz", .store), ("a.zip", .store), ("big", .faultyStore), ("big.xz", .faultyStore),
    ]

    /// The blobs whose files servers of this process serve, for as long as the blobs exist.
    ///
    /// - Parameter blobs: The blobs over the files in `folder`.
    static func web(_ blobs: [KnownBlob], in folder: String, seed: UInt64) throws -> [KnownBlob] {
        try self.lines.compactMap { file, kind in
            guard let blob = blobs.last(where: { $0.name == file }) else { return nil }
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)")))
            let line = try WebLine(kind, bytes, seed: seed)
            return try blob.over("\(file), \(kind)") { try line.source() }
        }
    }
}
