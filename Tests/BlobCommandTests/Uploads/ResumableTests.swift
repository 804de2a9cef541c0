#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob upload --resumable` and `blob receive`, both killed in between.
@Suite(.timeLimit(.minutes(5))) struct ResumableTests {
    /// The protocols, and parts at once.
    private static let wires = ["tus", "draft", "tus --parallel 3"]

    private static let byteCount = 6_000_000

    private let folder: TemporaryFolder
    private let store: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        self.store = try TemporaryFolder()
    }

    private var state: String { self.folder.path("state") }

    private func upload(_ wire: String, _ path: String, _ port: UInt16, _ arguments: String...) -> Launch {
        let options = ["upload", "--resumable"] + wire.split(separator: " ").map(String.init)
        return Launch(options + ["--state", self.state, path, "http://127.0.0.1:\(port)/"] + arguments)
    }

    /// The number of bytes of the uploads that are not complete.
    private var storedByteCount: Int {
        self.store.names.filter { $0.hasSuffix(".upload") }.reduce(0) { sum, name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: self.store.path(name))
            return sum + (attributes?[.size] as? Int ?? 0)
        }
    }

    private var completeNames: [String] { self.store.names.filter { !$0.hasPrefix(".") } }

    private func expectComplete(_ name: String, _ bytes: [UInt8], leavesOther: Bool = false) {
        #expect(self.completeNames == [name])
        let isEqual = FileManager.default.contents(atPath: self.store.path(name)) == Data(bytes)
        #expect(isEqual)
        #expect(!self.folder.names.contains { $0.hasPrefix("state") })
        // Parts are removed.
        #expect(leavesOther || self.storedByteCount == 0)
    }

    @Test(arguments: wires, [0, 1, 3_000_000]) func whatIsUploadedIsWhatArrives(wire: String, byteCount: Int) throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let bytes = makeContent(byteCount)
        let path = try self.folder.write(bytes, to: "a b.bin")
        let outcome = try self.upload(wire, path, port).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(outcome.text.hasPrefix("http://127.0.0.1:\(port)/files/") && outcome.errorText == "")
        receiver.waitForLines(2)
        let sum = try Launch("sum", path).run().text.prefix(64)
        for text in ["\"byte_count\":\(byteCount),", "\"name\":\"a b.bin\"", "\"sha256\":\"\(sum)\""] {
            #expect(receiver.lines[1].contains(text), "\(receiver.lines[1])")
        }
        self.expectComplete("a%20b.bin", bytes)
    }

    @Test(arguments: wires) func aClientThatIsKilledContinues(wire: String) throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let proxy = try FaultProxy(to: port)
        let bytes = makeContent(Self.byteCount)
        let path = try self.folder.write(bytes, to: "x")
        for byteCount in [1, 500_000, 1_100_000, 1_900_000, 3_000_000, 4_000_000] {
            let client = try self.upload(wire, path, proxy.port, "--limit-rate", "8M").start()
            client.wait { self.storedByteCount >= byteCount }
            client.send(SIGKILL)
            #expect(client.finish().ending == .signal(SIGKILL))
        }
        #expect(self.completeNames == [])
        let outcome = try self.upload(wire, path, proxy.port).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        self.expectComplete("x", bytes)
        receiver.waitForLines(2)
        // Less than 1 MiB a cut, and the heads.
        #expect(proxy.counts.toServerByteCount < Self.byteCount + 6 << 20)
    }

    @Test(arguments: wires) func aReceiverThatIsKilledContinues(wire: String) throws {
        var (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let bytes = makeContent(Self.byteCount)
        let path = try self.folder.write(bytes, to: "x")
        let client = try self.upload(wire, path, port, "--limit-rate", "4M").start()
        for byteCount in [1, 1_000_000, 2_000_000, 4_000_000] {
            client.wait { self.storedByteCount >= byteCount }
            receiver.send(SIGKILL)
            _ = receiver.finish()
            (receiver, _) = try startReceiver(in: self.store, ["--listen", "127.0.0.1:\(port)"])
        }
        let outcome = client.finish()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(outcome.errorText.contains("blob: trying again, 1 of 8: "), "\(outcome.errorText)")
        self.expectComplete("x", bytes)
    }

    @Test(arguments: wires, [3, 40, 700]) func connectionsThatAreCutLoseNothing(wire: String, kibibytes: Int64) throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let bytes = makeContent(Int(min(kibibytes * 20, 3000)) << 10)
        let path = try self.folder.write(bytes, to: "x")
        let proxy = try FaultProxy(to: port) { number in
            var faults = FaultProxy.ConnectionFaults()
            // The questions pass.
            faults.toServer.cutOffset = kibibytes << 10
            faults.toServer.ending = number % 2 == 0 ? .end : .reset
            return faults
        }
        let outcome = try self.upload(wire, path, proxy.port).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        self.expectComplete("x", bytes)
        receiver.waitForLines(2)
    }

    /// The boundary is random, and kept in the state.
    @Test(arguments: wires) func aFormThatIsKilledContinues(wire: String) throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let path = try self.folder.write(makeContent(3_000_000), to: "x")
        let launch = Launch(
            ["upload", "--resumable"] + wire.split(separator: " ").map(String.init)
                + ["--state", self.state, "-F", "a=b", "-F", "f=@\(path)", "http://127.0.0.1:\(port)/"]
                + ["--limit-rate", "4M"])
        let client = try launch.start()
        client.wait { self.storedByteCount > 1_000_000 }
        client.send(SIGKILL)
        _ = client.finish()
        let boundary = try #require(
            self.folder.read("state")?.split(separator: "\"").drop { $0 != "boundary" }.dropFirst(2).first)
        #expect(try launch.run().ending == .status(0))
        let form = try Launch("form", "-F", "a=b", "-F", "f=@\(path)", "--boundary=\(boundary)").run()
        self.expectComplete("upload", form.output)
        receiver.waitForLines(2)
        #expect(receiver.lines[1].contains("multipart/form-data"))
    }

    @Test func aSourceThatChangedBeginsAnew() throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let path = try self.folder.write(makeContent(3_000_000), to: "x")
        let client = try self.upload("tus", path, port, "--limit-rate", "4M").start()
        client.wait { self.storedByteCount > 1_000_000 }
        client.send(SIGKILL)
        _ = client.finish()
        let bytes = Array(makeContent(3_000_001).dropFirst())
        try self.folder.write(bytes, to: "x")
        let outcome = try self.upload("tus", path, port).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        self.expectComplete("x", bytes, leavesOther: true)
    }

    /// An answer without a body must not have one: the next answer would begin with it.
    @Test func answersKeepTheConnectionInOrder() throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let client = try Client(port)
        let head = "HTTP/1.1\r\nHost: a\r\nTus-Resumable: 1.0.0\r\n"
        client.send("POST / \(head)Upload-Length: 3\r\n\r\n")
        let created = client.receiveOnce()
        let location = try #require(created.split(separator: "\r\n").first { $0.hasPrefix("Location: ") }).dropFirst(10)
        let bytes = "Upload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: 3\r\n\r\nabc"
        client.send(
            "PATCH \(location) \(head)\(bytes)HEAD \(location) \(head)\r\nOPTIONS * \(head)\r\n"
                + "HEAD /files/none \(head)Connection: close\r\n\r\n")
        let answers = client.receiveAll().components(separatedBy: "\r\n\r\n")
        #expect(answers.map { $0.prefix(12) } == ["HTTP/1.1 204", "HTTP/1.1 200", "HTTP/1.1 204", "HTTP/1.1 404", ""])
        #expect(answers[1].contains("Upload-Offset: 3") && answers[1].contains("Upload-Length: 3"))
        #expect(self.completeNames == ["upload"])
    }

    /// The sender learns the URL before it sends, and a wrong offset leaves the upload as it is.
    @Test func anUploadOfTheDraftIsAnnounced() throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let client = try Client(port)
        let head = "HTTP/1.1\r\nHost: a\r\nUpload-Draft-Interop-Version: 6\r\n"
        client.send("POST /x \(head)Upload-Complete: ?1\r\nContent-Length: 3\r\n\r\n")
        let interim = client.receiveOnce()
        #expect(interim.hasPrefix("HTTP/1.1 104 Upload Resumption Supported\r\n") && interim.hasSuffix("\r\n\r\n"))
        let location = try #require(interim.split(separator: "\r\n").first { $0.hasPrefix("Location: ") }).dropFirst(10)
        client.send("ab")
        client.end()
        _ = client.receiveAll()
        let type = "Content-Type: application/partial-upload\r\n"
        let other = try Client(port)
        other.send(
            "PATCH \(location) \(head)\(type)Upload-Offset: 1\r\nUpload-Complete: ?1\r\nContent-Length: 2\r\n\r\nbc")
        let refusal = other.receiveAll()
        #expect(
            refusal.hasPrefix("HTTP/1.1 409 ") && refusal.contains("\r\nContent-Type: application/problem+json\r\n"))
        let last = try Client(port)
        last.send(
            "HEAD \(location) \(head)\r\nPATCH \(location) \(head)\(type)Connection: close\r\nUpload-Offset: 2\r\n"
                + "Upload-Complete: ?1\r\nContent-Length: 1\r\n\r\nc")
        let answers = last.receiveAll()
        #expect(answers.hasPrefix("HTTP/1.1 204 ") && answers.contains("\r\nHTTP/1.1 201 Created\r\n"))
        self.expectComplete("x", Array("abc".utf8))
    }

    @Test func whatCannotContinueIsRefused() throws {
        let path = try self.folder.write("1", to: "x")
        let url = "http://127.0.0.1:1/"
        for arguments in [
            ["--resumable", "tus", "--offset", "1"], ["--resumable", "tus", "-X", "POST"], ["--state", "x"],
            ["--resumable", "tus", "--content-encoding", "gzip"], ["--resumable", "tus", "--state", "x", path],
            ["--resumable=ftp"], ["-X", "PATCH"], ["-X", "HEAD"], ["--parallel", "2"],
            ["--resumable", "draft", "--parallel", "2"], ["--resumable", "tus", "--parallel", "17"],
        ] {
            let outcome = try Launch(["upload"] + arguments + [path, url]).run()
            #expect(outcome.ending == .status(64), "\(arguments) \(outcome.errorText)")
        }
        expect(try self.upload("tus", "-", 1).run(input: [1]), failsWith: "unsupported", 65)
        expect(try self.upload("tus", path, 1).run(), failsWith: "unavailable", 69)
        #expect(!self.folder.names.contains("state"))
    }

    /// The value of the option may be omitted.
    @Test func tusIsTheDefaultForWebServers() throws {
        let (receiver, port) = try startReceiver(in: self.store)
        defer { receiver.send(SIGKILL) }
        let path = try self.folder.write("content", to: "x")
        let url = "http://127.0.0.1:\(port)/"
        for arguments in [["--resumable", path, url], [path, url, "--resumable"], [path, "--resumable", url, "-v"]] {
            let outcome = try Launch(["upload", "--state", self.state] + arguments).run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            #expect(outcome.text.hasPrefix("\(url)files/"))
        }
        // As for a store, whose endpoint may follow.
        let store = try Launch(
            "upload", path, "s3://bucket/key", "--resumable", "--endpoint-url", "http://127.0.0.1:1",
            "--no-sign-request", "--retry", "0", "--state", self.state
        ).run()
        expect(store, failsWith: "unavailable", 69, saying: "/bucket/key")
    }
}
#endif
