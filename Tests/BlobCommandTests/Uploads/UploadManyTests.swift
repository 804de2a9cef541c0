#if Command
import BlobCore
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// `blob upload` of folders and lists.
@Suite struct UploadManyTests {
    private let folder: TemporaryFolder
    private let store: TemporaryFolder
    private let server: PythonServer
    private let url: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.store = try TemporaryFolder()
        self.server = try PythonServer(.files(self.store.path))
        self.url = "http://127.0.0.1:\(self.server.port)/"
        try self.write("one", "d/one.txt")
        try self.write("two", "d/sub/two words%#")
    }

    private func write(_ text: String, _ name: String) throws {
        try self.folder.makeFolder((name as NSString).deletingLastPathComponent)
        try self.folder.write(text, to: name)
    }

    /// Runs `blob upload` in the folder.
    private func upload(_ arguments: String..., limits: String = "true") -> Launch {
        Launch(["upload"] + arguments).with { $0.prelude = "cd '\(self.folder.path)'; \(limits)" }
    }

    /// The printed lines, whose order is that of the ends.
    private func lines(_ outcome: Outcome) -> Set<Substring> { Set(outcome.text.split(separator: "\n")) }

    private let one = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    private let two = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"

    @Test func aFolderKeepsItsPaths() throws {
        symlink("../one.txt", self.folder.path("d/sub/link"))
        symlink("..", self.folder.path("d/sub/circle"))
        let outcome = try self.upload("-r", "d", self.url).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(
            self.lines(outcome) == [
                "\(self.one)  d/one.txt", "\(self.two)  d/sub/two words%#", "\(self.one)  d/sub/link",
            ])
        #expect(self.store.read("d/one.txt") == "one" && self.store.read("d/sub/two words%#") == "two")
        #expect(self.store.read("d/sub/link") == "one")
        // Of a folder with a slash, only the files.
        #expect(try self.upload("--recursive", "d/", self.url).run().ending == .status(0))
        #expect(Set(self.store.names).isSuperset(of: ["d", "one.txt", "sub"]))
        expect(try self.upload("-r", "d", "\(self.url)x").run(), failsWith: "invalidArgument", 64, saying: "'/'")
    }

    /// With '**', as those of a folder; without it, as with curl, names alone.
    @Test func theMembersInAnyFoldersKeepTheirPaths() throws {
        try self.write("three", "d/sub/one.txt")
        try self.folder.pack(["./d"], into: "x.tgz")
        let outcome = try self.upload("x.tgz#**", self.url).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(self.store.read("d/one.txt") == "one" && self.store.read("d/sub/one.txt") == "three")
        #expect(self.store.read("d/sub/two words%#") == "two")
        #expect(try self.upload("x.tgz#./d/sub/one*", self.url).run().ending == .status(0))
        #expect(self.store.read("one.txt") == "three")
    }

    @Test func namesThatCollideAreRefusedBeforeTheFirstByte() throws {
        try self.write("other", "e/sub/two words%#")
        let outcome = try self.upload("-r", "d/", "e/", self.url).run()
        expect(outcome, failsWith: "invalidArgument", 64, saying: "'sub/two%20words%25%23'", "d/sub", "e/sub")
        #expect(self.store.names == [])
    }

    @Test func oneBadFileHidesNoOther() throws {
        try self.folder.makeFIFO("d/fifo")
        // It used to hide what its folder has beside it.
        symlink("nowhere", self.folder.path("d/dangling"))
        let outcome = try self.upload("none", "d/one.txt", "d", self.url).run()
        #expect(outcome.ending == .status(66))
        #expect(self.lines(outcome).contains("\(self.one)  d/one.txt"))
        #expect(outcome.errorText.contains("blob: notFound: ") && outcome.errorText.contains("d/fifo"))
        #expect(outcome.errorText.contains("d/dangling"))
        try FileManager.default.removeItem(atPath: self.folder.path("d/dangling"))
        let special = try self.upload("d", self.url).run()
        #expect(special.ending == .status(65) && special.errorText.contains("d/fifo"))
        #expect(self.lines(special).count == 2)
        expect(try self.upload("d", "\(self.url)x").run(), failsWith: "invalidArgument", 64, saying: "'/'")
        // A transient error is not the worst.
        try self.write("x", "d/to/x")
        let refused = try self.upload("-r", "d/to", "d/one.txt", "http://127.0.0.1:\(self.server.port)/to/").run()
        #expect(refused.ending == .status(76) && refused.errorText.split(separator: "\n").count == 2)
        #expect(try self.upload("-r", "d", "http://127.0.0.1:1/").run().ending == .status(65))
    }

    @Test(arguments: ["\n", "\0"]) func listsHaveLinesOrNULs(end: String) throws {
        let names = end == "\0" ? ["d/one.txt", "with\nline"] : ["d/one.txt", "d/sub/two words%#"]
        try self.write("two", "with\nline")
        let list = Array(names.map { $0 + end }.joined().utf8)
        let outcome = try self.upload("--from-file", "-", self.url, "--jobs", "1").run(input: list)
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(outcome.text.split(separator: "\n").map { $0.prefix(64) } == [self.one[...], self.two[...]])
        #expect(self.store.names.count == 2)
    }

    @Test func filesHaveTheTypeOfTheirExtensionOrSignature() throws {
        try self.write("GIF89a and more", "d/picture")
        let answers = self.folder.path("answers")
        let outcome = try self.upload("-r", "d/", self.url, "-o", answers).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        let text = self.folder.read("answers") ?? ""
        for type in ["image/gif", "text/plain", "application/octet-stream"] {
            #expect(text.contains("Content-Type: \(type)\n"), "\(text)")
        }
    }

    /// Also of what is not the beginning of the body: of a rest, and of content that is compressed.
    @Test(arguments: [[], ["--offset", "3"], ["--content-encoding", "gzip"]])
    func aSourceHasTheTypeOfItsSignature(options: [String]) throws {
        try self.write("GIF89a and more", "picture")
        let single = try Launch(["upload", self.folder.path("picture"), self.url] + options).run()
        #expect(single.text.contains("Content-Type: image/gif\n"), "\(single.text)\(single.errorText)")
        guard options.isEmpty else { return }
        let piped = try self.upload("-", "\(self.url)piped").run(input: Array("GIF89a and more".utf8))
        #expect(piped.text.contains("Content-Type: image/gif\n"), "\(piped.text)\(piped.errorText)")
    }

    @Test func whatTheServerHasIsSkipped() throws {
        let format = "sent %{size_upload}\\n"
        try self.write("one", "d/without")
        let arguments = ["upload", "-r", "d", self.url, "--skip-existing", "-w", format]
        let skip = Launch(arguments).inFolder(self.folder)
        #expect(try skip.run().text.components(separatedBy: "sent 3\n").count == 4)
        // Without a digest the length is not enough.
        let again = try skip.run()
        #expect(again.text.components(separatedBy: "sent 3\n").count == 2, "\(again.text)")
        #expect(self.lines(again).contains("already there: \(self.one)  d/one.txt"))
        try self.write("1ne", "d/one.txt")
        #expect(try skip.run().text.components(separatedBy: "sent 3\n").count == 3)
        #expect(self.store.read("d/one.txt") == "1ne")
        let bySize = try self.upload("-r", "d", self.url, "--skip-existing=size", "-w", format).run()
        #expect(!bySize.text.contains("sent") && self.lines(bySize).contains("already there: -  d/without"))
        let part = try self.upload("-r", "d", self.url, "--skip-existing", "--offset", "1").run()
        expect(part, failsWith: "invalidArgument", 64)
    }

    @Test func aServerWithoutDigestsIsReportedOnce() throws {
        let server = try RecordingServer { request in
            request.method == "HEAD"
                ? RecordingServer.answer("200 OK", [], [1, 2, 3]) : RecordingServer.answer("201 Created")
        }
        let url = "http://127.0.0.1:\(server.port)/"
        let outcome = try self.upload("-r", "d", url, "--skip-existing").run()
        #expect(outcome.ending == .status(0))
        #expect(outcome.errorText.components(separatedBy: "not report digests").count == 2, "\(outcome.errorText)")
        #expect(server.requests.count { $0.method == "PUT" } == 2)
        #expect(try self.upload("-r", "d", url, "--skip-existing=size").run().errorText == "")
    }

    /// They differ in the source alone, and explain themselves by a page that is not printed.
    @Test func equalRefusalsAreOneLine() throws {
        for number in 0..<21 { try self.write("\(number)", "many/\(number)") }
        let page = Array("<html><body><h1>Forbidden</h1></body></html>".utf8)
        let server = try RecordingServer { _ in
            RecordingServer.answer("403 Forbidden", ["Content-Type: text/html"], page)
        }
        let url = "http://127.0.0.1:\(server.port)/"
        let outcome = try self.upload("many/", url).run()
        #expect(outcome.ending == .status(76) && server.requests.count == 21)
        let lines = outcome.errorText.split(separator: "\n")
        // A second apart, there would be another line.
        #expect(lines.count < 5 && lines.allSatisfy { $0.contains("403 Forbidden.") && !$0.contains("<") }, "\(lines)")
        let others = lines.compactMap {
            $0.firstMatch(of: /(\d+) more failed in the same way/).flatMap { Int($0.output.1) }
        }
        #expect(others.reduce(lines.count, +) == 21)
        let each = try self.upload("-v", "many/", url).run().errorText
        #expect(each.components(separatedBy: "blob: refused: ").count == 22)
    }

    @Test func theWaitThatAServerAsksForIsToldAndLimited() throws {
        let delay = Locked(1)
        let server = try RecordingServer { _ in
            RecordingServer.answer("503 Busy", ["Retry-After: \(delay.withLock { $0 })"])
        }
        let url = "http://127.0.0.1:\(server.port)/x"
        let told = try self.upload("d/one.txt", url, "--retry", "1").run()
        #expect(told.errorText.contains("trying again, 1 of 1, waiting 1 s: refused: "), "\(told.errorText)")
        #expect(server.requests.count == 2)
        delay.withLock { $0 = 7200 }
        for options in [["--retry-max-time", "30"], []] {
            let count = server.requests.count
            let launch = Launch(["upload", "d/one.txt", url, "--retry", "3"] + options)
            let outcome = try launch.inFolder(self.folder).run()
            #expect(outcome.ending == .status(76) && server.requests.count == count + 1, "\(outcome.errorText)")
        }
    }

    @Test func whatTheJournalSaysIsSkipped() throws {
        let upload = self.upload("-r", "d", self.url, "--journal", "j", "-w", "sent %{size_upload}\\n")
        #expect(try upload.run().text.contains("sent 3\n"))
        let again = try upload.run()
        #expect(!again.text.contains("sent") && self.lines(again).count == 2, "\(again.text)")
        #expect(self.lines(again).allSatisfy { $0.hasPrefix("already there: ") })
        #expect(try self.folder.mode("j") & 0o777 == 0o600)
        try self.write("three", "d/one.txt")
        let changed = try upload.run().text
        #expect(changed.contains("sent 5\n") && !changed.contains("sent 3\n"))
        // To another URL it is another upload.
        let elsewhere = try self.upload("-r", "d", "\(self.url)e/", "--journal", "j", "-w", "sent\\n").run()
        #expect(elsewhere.text.components(separatedBy: "sent\n").count == 3)
        let missing = try self.upload("-r", "d", self.url, "--journal", "none/j").run()
        expect(missing, failsWith: "notFound", 66)
    }

    /// The server is asked before it is believed to have what the journal says.
    @Test func whatTheServerHasNoLongerIsSentAgain() throws {
        try self.write("one", "d/without")
        let upload = self.upload("-r", "d", self.url, "--journal", "j", "-w", "sent %{size_upload}\\n")
        func sentCount() throws -> Int { try upload.run().text.components(separatedBy: "sent ").count - 1 }
        #expect(try sentCount() == 3 && sentCount() == 0)
        // Gone, of another length, and, where it tells a digest, with other bytes.
        try FileManager.default.removeItem(atPath: self.store.path("d/one.txt"))
        try self.store.write("longer", to: "d/without")
        #expect(try sentCount() == 2 && sentCount() == 0)
        try self.store.write("1ne", to: "d/one.txt")
        #expect(try sentCount() == 1 && sentCount() == 0)
        #expect(self.store.read("d/one.txt") == "one" && self.store.read("d/without") == "one")
        // A new, empty place of the same name.
        try FileManager.default.removeItem(atPath: self.store.path("d"))
        #expect(try sentCount() == 3)
    }

    /// Of servers that tell a tag, that of then is compared; one without HEAD, and one that takes POST, is believed.
    @Test func theTagOfAnUploadIsCompared() throws {
        let (tag, headStatus) = (Locked("\"1\""), Locked("200 OK"))
        let methods = Locked<[String]>([])
        let server = try ObjectServer([]) { _, request, connection in
            methods.withLock { $0.append(request.method) }
            let isQuestion = request.method == "HEAD"
            let status = isQuestion ? headStatus.withLock { $0 } : "201 Created"
            let lines = ["ETag: \(tag.withLock { $0 })", "Content-Length: \(isQuestion ? 3 : 0)"]
            connection.send("HTTP/1.1 \(status)\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n")
            return true
        }
        let url = "http://127.0.0.1:\(server.port)/x"
        func asked(_ options: String...) throws -> [String] {
            methods.withLock { $0 = [] }
            _ = try Launch(
                ["upload", self.folder.path("d/one.txt"), url, "--journal", self.folder.path("j")] + options
            )
            .run()
            return methods.withLock { $0 }
        }
        #expect(try asked() == ["PUT"])
        #expect(try asked() == ["HEAD"])
        tag.withLock { $0 = "\"2\"" }
        #expect(try asked() == ["HEAD", "PUT"])
        #expect(try asked() == ["HEAD"])
        for (status, expected) in [("405 No", ["HEAD"]), ("501 No", ["HEAD"]), ("404 No", ["HEAD", "PUT"])] {
            headStatus.withLock { $0 = status }
            #expect(try asked() == expected, "\(status)")
        }
        #expect(try asked("-X", "POST") == [])
    }

    @Test func aTornJournalSkipsNothingElse() throws {
        let upload = self.upload("d/one.txt", self.url, "--journal", "j", "-w", "sent\\n")
        #expect(try upload.run().text.contains("sent\n"))
        let journal = Array((self.folder.read("j") ?? "").utf8)
        #expect(journal.count > 100)
        var damaged = stride(from: 0, to: journal.count - 1, by: 7).map { Array(journal.prefix($0)) }
        damaged += stride(from: 0, to: journal.count, by: 11).map { index in
            let bytes = journal.flipping(0x80, at: index)
            return bytes
        }
        damaged.append([UInt8](repeating: 0, count: 2 << 20))
        for bytes in damaged {
            try self.folder.write(bytes, to: "j")
            let outcome = try upload.run()
            #expect(outcome.text.contains("sent\n") && outcome.ending == .status(0), "\(outcome.errorText)")
            // The line that follows is whole.
            let lines = try self.folder.bytes("j").split(separator: UInt8(ascii: "\n"))
            #expect(lines.last.map(Array.init) == journal.dropLast())
        }
        // All but the line end is a whole line.
        try self.folder.write(Array(journal.dropLast()), to: "j")
        #expect(try !upload.run().text.contains("sent"))
    }

    @Test func aKilledUploadGoesOnWhereItWas() throws {
        for number in 0..<300 { try self.write("\(number)", "many/\(number)") }
        let upload = self.upload("-r", "many", self.url, "--journal", "j", "-w", "sent\\n")
        let killed = try upload.start()
        killed.waitForLines(60)
        killed.send(SIGKILL)
        let done = Set(killed.finish().text.split(separator: "\n").filter { $0.contains("many/") }.dropLast())
        let outcome = try upload.run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        let skipped = Set(done.map { "already there: \($0)"[...] })
        #expect(self.lines(outcome).count == 301 && self.lines(outcome).isSuperset(of: skipped))
        #expect(outcome.text.components(separatedBy: "sent\n").count - 1 <= 300 - done.count)
        for number in 0..<300 { #expect(self.store.read("many/\(number)") == "\(number)") }
    }

    @Test func twoHundredStalledUploadsHaveFewThreads() throws {
        for number in 0..<200 {
            try self.write("", "many/\(number)")
            truncate(self.folder.path("many/\(number)"), 3_000_000)
        }
        let listener = try LoopbackListener()
        defer { close(listener.descriptor) }
        let url = "http://127.0.0.1:\(listener.port)/"
        let running = try self.upload("-r", "many/", url, "--jobs", "200").start()
        var connections: [CInt] = []
        defer { for connection in connections { close(connection) } }
        while connections.count < 200 {
            connections.append(accept(listener.descriptor, nil, nil))
            var byte: UInt8 = 0
            #expect(recv(connections.last ?? -1, &byte, 1, 0) == 1)
        }
        #expect(running.threadCount ?? 1 <= 16)
        running.send(SIGKILL)
        _ = running.finish()
    }

    @Test func filesAreOpenedWhenTheirTurnComes() throws {
        for number in 0..<200 { try self.write("\(number)", "many/\(number)") }
        let outcome = try self.upload("-r", "many", self.url, "--jobs", "6", limits: "ulimit -n 60").run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(self.lines(outcome).count == 200)
        for jobs in ["0", "257", "x"] {
            expect(try self.upload("-r", "d", self.url, "--jobs", jobs).run(), failsWith: "invalidArgument", 64)
        }
        expect(try self.upload("-F", "a=b", "-r", self.url).run(), failsWith: "invalidArgument", 64)
    }
}
#endif
