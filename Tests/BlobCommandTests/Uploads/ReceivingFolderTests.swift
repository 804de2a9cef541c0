#if Command
import BlobTestSupport
import Foundation
import Testing

/// The folder in which `blob receive` stores what arrives.
@Suite struct ReceivingFolderTests {
    private static let head = "PUT /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"

    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    /// Runs `body` with a receiver in the folder, and its port.
    private func withReceiver(
        _ launch: Launch? = nil, body: (RunningProcess, UInt16) throws -> Void
    ) throws {
        let receiver = try (launch ?? Launch("receive", "--directory", self.folder.path)).start()
        defer { receiver.send(SIGKILL) }
        try body(receiver, receiver.waitForPort())
    }

    private var partCount: Int { self.folder.names.count { $0.hasSuffix(".part") } }

    @Test func aMissingFolderIsMade() throws {
        let path = self.folder.path("a/b")
        try self.withReceiver(Launch("receive", "--directory", path)) { _, port in
            let client = try Client(port)
            client.send(Self.head + "Content-Length: 1\r\n\r\na")
            #expect(client.receiveAll().hasPrefix("HTTP/1.1 201 "))
            #expect(FileManager.default.contents(atPath: path + "/x") == Data("a".utf8))
        }
        try self.folder.write("", to: "file")
        for path in ["file", "file/c"] {
            let outcome = try Launch("receive", "--directory", self.folder.path(path)).run()
            #expect(outcome.errorText.hasPrefix("blob: "))
            #expect(outcome.ending != .status(0))
        }
    }

    /// The parts of a receiver that was killed go when another one starts; those of a living one stay.
    @Test func partsOfTheDeadAreRemoved() throws {
        try self.folder.write("mine", to: ".mine.part")
        try self.withReceiver { _, port in
            let living = try Client(port)
            try self.beginBody(living)
            try self.withReceiver { dead, port in
                let client = try Client(port)
                try self.beginBody(client)
                #expect(self.partCount == 3)
                dead.send(SIGKILL)
                _ = dead.finish()
                #expect(self.partCount == 3)
            }
            try self.withReceiver { _, _ in #expect(self.partCount == 2) }
            living.send("bc")
            #expect(living.receiveAll().hasPrefix("HTTP/1.1 201 "))
        }
        #expect(self.folder.read("x") == "abc")
        #expect(self.folder.read(".mine.part") == "mine")
    }

    /// Sends the beginning of a body, and waits until there is a file for it.
    private func beginBody(_ client: Client) throws {
        client.send(Self.head + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\na")
        #expect(client.receiveOnce().hasPrefix("HTTP/1.1 100 "))
    }

    @Test(.enabled(if: ReceivingFolderTests.hasTool("unshare", "-rm", "true"), "Mounting is not allowed."))
    func aFullDiskIsAnsweredSo() throws {
        var launch = Launch(
            "-rm", "sh", "-c", "mount -t tmpfs -o size=1m none \"$2\" && exec \"$1\" receive --directory \"$2\"", "sh",
            Launch.blob, self.folder.path)
        launch.program = "/usr/bin/unshare"
        try self.withReceiver(launch) { _, port in
            // Once more: what was refused takes no room any longer.
            for (count, status) in [(3_000_000, 507), (500_000, 201), (700_000, 507), (300_000, 201)] {
                let client = try Client(port)
                client.send(Self.head + "Content-Length: \(count)\r\n\r\n" + String(repeating: "a", count: count))
                let answer = client.receiveAll()
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            }
        }
    }

    /// A loss of power after the answer must not undo the naming.
    @Test(.enabled(if: ReceivingFolderTests.hasTool("strace", "-o", "/dev/null", "true"), "strace is not there."))
    func theFolderIsSynchronisedBeforeTheAnswer() throws {
        let logs = try TemporaryFolder()
        let log = logs.path("log")
        var launch = Launch(
            "-f", "-y", "-e", "trace=link,linkat,fsync", "-o", log, Launch.blob, "receive", "--directory",
            self.folder.path)
        launch.program = "/usr/bin/strace"
        try self.withReceiver(launch) { _, port in
            let client = try Client(port)
            client.send(Self.head + "Content-Length: 1\r\n\r\na")
            #expect(client.receiveAll().hasPrefix("HTTP/1.1 201 "))
            let lines = try #require(logs.read("log")).split(separator: "\n").map(String.init)
            let calls = lines.filter { $0.contains(self.folder.path) }
            #expect(calls.count == 3, "\(lines)")
            #expect(calls.first?.contains("fsync(") == true && calls.first?.contains(".part>") == true)
            #expect(calls.dropFirst().first?.contains("link") == true)
            #expect(calls.last?.contains("fsync(") == true && calls.last?.contains("\(self.folder.path)>") == true)
        }
    }

    private static func hasTool(_ words: String...) -> Bool {
        (try? Launch(words).with { $0.program = "/usr/bin/env" }.run())?.ending == .status(0)
    }

    @Test func whatWasStoredIsNotSentAgain() throws {
        let sources = try TemporaryFolder()
        for (name, text) in [("a b.txt", "one"), ("c", "two"), ("empty", "")] { try sources.write(text, to: name) }
        try self.withReceiver { _, port in
            let upload = Launch("upload", "\(sources.path)/", "http://127.0.0.1:\(port)/to/", "--skip-existing")
            let first = try upload.run()
            #expect(first.ending == .status(0) && !first.text.contains("already there"), "\(first.errorText)")
            #expect(try upload.run().text.components(separatedBy: "already there: ").count == 4)
            #expect(self.folder.names == ["a%20b.txt", "c", "empty"])
            // Other content is sent, and so is a file that is gone.
            try sources.write("2wo", to: "c")
            try #require(unlink(self.folder.path("a%20b.txt")) == 0)
            #expect(try upload.run().text.components(separatedBy: "already there: ").count == 2)
            #expect(self.folder.names == ["a%20b.txt", "c", "c-2", "empty"])
            // And a file that was overwritten since with as many bytes.
            try self.folder.write("xyz", to: "a%20b.txt")
            #expect(try upload.run().text.components(separatedBy: "already there: ").count == 3)
            #expect(self.folder.read("a%20b.txt-2") == "one")
            let client = try Client(port)
            client.send(
                "HEAD /to/c?x HTTP/1.1\r\nHost: a\r\n\r\nHEAD /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let answers = client.receiveAll()
            #expect(answers.hasPrefix("HTTP/1.1 200 ") && answers.contains("\r\nContent-Length: 3\r\n"))
            #expect(answers.contains("Repr-Digest: sha-256=:") && answers.contains("\r\n\r\nHTTP/1.1 404 "))
            #expect(!answers.contains("2wo"))
        }
    }
}
#endif
