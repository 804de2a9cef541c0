import BlobTestSupport
import Foundation
import Testing

/// `blob upload --resumable tus` and `blob receive`, both killed in between.
@Suite(.timeLimit(.minutes(5))) struct ResumableTests {
    private static let byteCount = 6_000_000

    private let folder: TemporaryFolder
    private let store: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        self.store = try TemporaryFolder()
    }

    private var state: String { self.folder.path("state") }

    private func startReceiver(port: UInt16 = 0) throws -> (RunningProcess, UInt16) {
        let receiver = try Launch(
            "receive", "--directory", self.store.path, "--listen", "127.0.0.1:\(port)"
        ).start()
        return (receiver, try receiver.waitForPort())
    }

    private func upload(_ path: String, _ port: UInt16, _ arguments: String...) -> Launch {
        Launch(["upload", "--resumable", "tus", "--state", self.state, path, "http://127.0.0.1:\(port)/"] + arguments)
    }

    /// The number of bytes of the only upload that is not complete.
    private var storedByteCount: Int {
        let name = self.store.names.first { $0.hasSuffix(".upload") }
        let attributes = name.flatMap { try? FileManager.default.attributesOfItem(atPath: self.store.path($0)) }
        return attributes?[.size] as? Int ?? 0
    }

    private var completeNames: [String] { self.store.names.filter { !$0.hasPrefix(".") } }

    private func expectComplete(_ name: String, _ bytes: [UInt8]) {
        #expect(self.completeNames == [name])
        let isEqual = FileManager.default.contents(atPath: self.store.path(name)) == Data(bytes)
        #expect(isEqual)
        #expect(!self.folder.names.contains("state"))
    }

    @Test(arguments: [0, 1, 3_000_000]) func whatIsUploadedIsWhatArrives(byteCount: Int) throws {
        let (receiver, port) = try self.startReceiver()
        defer { receiver.send(SIGKILL) }
        let bytes = makeContent(byteCount)
        let path = try self.folder.write(bytes, to: "a b.bin")
        let outcome = try self.upload(path, port).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(outcome.text.hasPrefix("http://127.0.0.1:\(port)/files/") && outcome.errorText == "")
        receiver.waitForLines(2)
        let sum = try Launch("sum", path).run().text.prefix(64)
        for text in ["\"byte_count\":\(byteCount),", "\"name\":\"a b.bin\"", "\"sha256\":\"\(sum)\""] {
            #expect(receiver.lines[1].contains(text), "\(receiver.lines[1])")
        }
        self.expectComplete("a%20b.bin", bytes)
    }

    @Test func aClientThatIsKilledContinues() throws {
        let (receiver, port) = try self.startReceiver()
        defer { receiver.send(SIGKILL) }
        let proxy = try FaultProxy(to: port)
        let bytes = makeContent(Self.byteCount)
        let path = try self.folder.write(bytes, to: "x")
        for byteCount in [1, 500_000, 1_100_000, 1_900_000, 3_000_000, 4_000_000] {
            let client = try self.upload(path, proxy.port, "--limit-rate", "8M").start()
            client.wait { self.storedByteCount >= byteCount }
            client.send(SIGKILL)
            #expect(client.finish().ending == .signal(SIGKILL))
        }
        #expect(self.completeNames == [])
        let outcome = try self.upload(path, proxy.port).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        self.expectComplete("x", bytes)
        receiver.waitForLines(2)
        // Less than 1 MiB a cut, and the heads.
        #expect(proxy.counts.toServerByteCount < Self.byteCount + 6 << 20)
    }

    @Test func aReceiverThatIsKilledContinues() throws {
        var (receiver, port) = try self.startReceiver()
        defer { receiver.send(SIGKILL) }
        let bytes = makeContent(Self.byteCount)
        let path = try self.folder.write(bytes, to: "x")
        let client = try self.upload(path, port, "--limit-rate", "4M").start()
        for byteCount in [1, 1_000_000, 2_000_000, 4_000_000] {
            client.wait { self.storedByteCount >= byteCount }
            receiver.send(SIGKILL)
            _ = receiver.finish()
            (receiver, _) = try self.startReceiver(port: port)
        }
        let outcome = client.finish()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(outcome.errorText.contains("blob: "))
        self.expectComplete("x", bytes)
    }

    @Test(arguments: [3, 40, 700]) func connectionsThatAreCutLoseNothing(kibibytes: Int64) throws {
        let (receiver, port) = try self.startReceiver()
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
        let outcome = try self.upload(path, proxy.port).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        self.expectComplete("x", bytes)
        receiver.waitForLines(2)
    }

    /// The boundary is random, and kept in the state.
    @Test func aFormThatIsKilledContinues() throws {
        let (receiver, port) = try self.startReceiver()
        defer { receiver.send(SIGKILL) }
        let path = try self.folder.write(makeContent(3_000_000), to: "x")
        let launch = Launch(
            "upload", "--resumable", "tus", "--state", self.state, "-F", "a=b", "-F", "f=@\(path)",
            "http://127.0.0.1:\(port)/", "--limit-rate", "4M")
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
        let (receiver, port) = try self.startReceiver()
        defer { receiver.send(SIGKILL) }
        let path = try self.folder.write(makeContent(3_000_000), to: "x")
        let client = try self.upload(path, port, "--limit-rate", "4M").start()
        client.wait { self.storedByteCount > 1_000_000 }
        client.send(SIGKILL)
        _ = client.finish()
        let bytes = Array(makeContent(3_000_001).dropFirst())
        try self.folder.write(bytes, to: "x")
        let outcome = try self.upload(path, port).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        self.expectComplete("x", bytes)
    }

    /// An answer without a body must not have one: the next answer would begin with it.
    @Test func answersKeepTheConnectionInOrder() throws {
        let (receiver, port) = try self.startReceiver()
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

    @Test func whatCannotContinueIsRefused() throws {
        let path = try self.folder.write("1", to: "x")
        let url = "http://127.0.0.1:1/"
        for arguments in [
            ["--resumable", "tus", "--offset", "1"], ["--resumable", "tus", "-X", "POST"], ["--state", "x"],
            ["--resumable", "tus", "--content-encoding", "gzip"], ["--resumable", "tus", "--state", "x", path],
            ["--resumable", "ftp"], ["-X", "PATCH"], ["-X", "HEAD"],
        ] {
            let outcome = try Launch(["upload"] + arguments + [path, url]).run()
            #expect(outcome.ending == .status(64), "\(arguments) \(outcome.errorText)")
        }
        expect(try self.upload("-", 1).run(input: [1]), failsWith: "unsupported", 65)
        expect(try self.upload(path, 1).run(), failsWith: "unavailable", 69)
        #expect(!self.folder.names.contains("state"))
    }
}
