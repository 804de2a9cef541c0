#if Command
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// `blob upload` through a proxy that changes bodies and frames them again, as a buffering proxy can.
@Suite(.timeLimit(.minutes(5))) struct CheckedUploadTests {
    private static let kinds = ["--resumable tus", "--resumable tus --parallel 2", "--resumable draft", "-X PUT"]
    private static let faults = ["drop", "flip", "truncate"]

    private let folder: TemporaryFolder
    private let store: TemporaryFolder
    /// Several pieces, and none that waits for an answer before it is sent.
    private let bytes = makeContent(900_000)

    init() throws {
        self.folder = try TemporaryFolder()
        self.store = try TemporaryFolder()
    }

    private func upload(_ kind: String, to port: UInt16, _ more: String...) throws -> Outcome {
        let path = self.folder.path("x")
        // Written once: an upload continues with the same file.
        if !self.folder.names.contains("x") { try self.folder.write(self.bytes, to: "x") }
        let state = kind.contains("resumable") ? ["--state", self.folder.path("state")] : []
        let options = kind.split(separator: " ").map(String.init)
        return try Launch(["upload"] + options + state + more + [path, "http://127.0.0.1:\(port)/x"]).run()
    }

    private func stored() -> [[UInt8]] {
        self.store.names.filter { !$0.hasPrefix(".") }
            .map { Array(FileManager.default.contents(atPath: self.store.path($0)) ?? Data()) }
    }

    private static func change(_ body: [UInt8], _ fault: String, _ random: inout SplitMix64) -> [UInt8] {
        // Requests without bytes of the file are as they are.
        guard body.count > 2000 else { return body }
        let place = Int.random(in: 0..<(body.count - 1000), using: &random)
        switch fault {
        case "drop": return Array(body[..<place] + body[(place + 1000)...])
        case "flip": return body.flipping(at: place)
        default: return Array(body[..<place])
        }
    }

    /// With the same fault in all requests, nothing is stored as if it were right.
    @Test(arguments: kinds, faults) func whatIsChangedOnTheWayIsAnError(kind: String, fault: String) throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let random = Locked(SplitMix64(seed: 40))
        let proxy = try BodyProxy(to: port) { _, body in random.withLock { Self.change(body, fault, &$0) } }
        let retry = kind.contains("resumable") ? ["--retry", "1"] : []
        let outcome = try self.upload("\(kind) \(retry.joined(separator: " "))", to: proxy.port)
        #expect(outcome.ending != .status(0) && outcome.errorText.contains("blob: "), "\(outcome.errorText)")
        if kind.contains("tus") { #expect(self.stored() == []) }
        // Nothing of a body without a digest is known to be wrong but by the sender, and that says so.
        if kind == "-X PUT" || kind.contains("draft"), fault == "flip" {
            #expect(outcome.errorText.contains("SHA-256"), "\(outcome.errorText)")
        }
    }

    /// A fault of one request is repaired by tus, whose pieces have checksums.
    @Test(arguments: [kinds[0], kinds[1]], faults) func aPieceThatIsChangedIsSentAgain(kind: String, fault: String)
        throws
    {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let (random, rest) = (Locked(SplitMix64(seed: 40)), Locked(2))
        let proxy = try BodyProxy(to: port) { _, body in
            let isFaulty =
                body.count > 2000
                && rest.withLock { count in
                    count -= 1
                    return count >= 0
                }
            return isFaulty ? random.withLock { Self.change(body, fault, &$0) } : body
        }
        let outcome = try self.upload(kind, to: proxy.port, "-v")
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(self.stored() == [self.bytes])
        #expect(outcome.errorText.contains("blob: trying again, 1 of 8: "), "\(outcome.errorText)")
        #expect(outcome.errorText.contains("stored; SHA-256 of each piece compared."), "\(outcome.errorText)")
    }

    @Test(
        arguments: zip(
            kinds, ["SHA-256 of each piece", "SHA-256 of each piece", "SHA-256 (the response)", "SHA-256"]))
    func whatWasComparedIsSaid(kind: String, check: String) throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let outcome = try self.upload(kind, to: port, "-v")
        #expect(outcome.ending == .status(0))
        #expect(outcome.errorText.contains(": stored; \(check) compared."), "\(outcome.errorText)")
        #expect(self.stored() == [self.bytes])
    }

    /// An upload of an earlier run is compared as a whole, with all that an earlier run has sent.
    @Test func theBytesOfAnEarlierRunAreCompared() throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let count = Locked(0)
        let proxy = try BodyProxy(to: port) { _, body in
            // The second piece ends the first run.
            if body.count > 2000,
                count.withLock({ count in
                    count += 1
                    return count == 2
                })
            {
                return nil
            }
            return body
        }
        #expect(try self.upload("--resumable tus --retry 0", to: proxy.port).ending != .status(0))
        let data = try #require(self.store.names.first { $0.hasSuffix(".upload") })
        let isBroken = FileManager.default.contents(atPath: self.store.path(data)).map { Array($0) }
        #expect(isBroken == Array(self.bytes[..<(256 << 10)]))
        let right = try self.upload("--resumable tus", to: proxy.port, "-v")
        #expect(right.errorText.contains(": stored; SHA-256 (Repr-Digest) compared."), "\(right.errorText)")
        #expect(self.stored() == [self.bytes])
    }

    @Test(arguments: [1, 2]) func manySourcesAreCompared(jobs: Int) throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let proxy = try BodyProxy(to: port) { head, body in
            head.hasPrefix("PUT /f/b ") ? body.flipping(at: 5) : body
        }
        for name in ["a", "b", "c"] { try self.folder.write(makeContent(3000), to: name) }
        let names = ["a", "b", "c"].map(self.folder.path)
        let outcome = try Launch(
            ["upload", "-v", "--jobs", "\(jobs)"] + names + ["http://127.0.0.1:\(proxy.port)/f/"]
        ).run()
        #expect(outcome.ending != .status(0))
        #expect(outcome.text.split(separator: "\n").count == 2, "\(outcome.text)")
        #expect(outcome.errorText.contains("The server stored bytes with the SHA-256"), "\(outcome.errorText)")
        #expect(outcome.errorText.contains("/f/c: stored; SHA-256 compared."), "\(outcome.errorText)")
    }
}

/// A proxy that receives each request as a whole, and passes it on with another body, and the length of that.
private final class BodyProxy: Sendable {
    private let server: LoopbackServer

    var port: UInt16 { self.server.port }

    /// - Parameter change: Returns the body for a request with a head; nil to break the connection.
    init(to port: UInt16, _ change: @escaping @Sendable (_ head: String, _ body: [UInt8]) -> [UInt8]?) throws {
        self.server = try LoopbackServer()
        self.server.start { descriptor in
            guard let (head, body) = Self.receive(descriptor), let changed = change(head, body),
                let client = try? Client(port)
            else { return }
            let lines = head.split(separator: "\r\n").map { line in
                line.lowercased().hasPrefix("content-length:") ? "Content-Length: \(changed.count)" : String(line)
            }
            client.send((lines + ["Connection: close", "", ""]).joined(separator: "\r\n"))
            client.send(changed)
            client.passAnswer(to: descriptor)
        }
    }

    private static func receive(_ descriptor: CInt) -> (head: String, body: [UInt8])? {
        var (received, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        var end: Int?
        var wanted = Int.max
        while received.count < wanted {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            received += buffer[..<count]
            guard end == nil, let range = Data(received).range(of: Data("\r\n\r\n".utf8)) else { continue }
            end = range.upperBound
            let head = String(decoding: received[..<range.lowerBound], as: UTF8.self).lowercased()
            let length = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            wanted = range.upperBound + (length.flatMap { Int($0.dropFirst(15).filter { $0 != " " }) } ?? 0)
        }
        guard let end else { return nil }
        return (String(decoding: received[..<(end - 4)], as: UTF8.self), Array(received[end...]))
    }
}
#endif
