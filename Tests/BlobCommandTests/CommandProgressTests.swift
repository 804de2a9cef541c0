#if Command
import BlobCommandLine
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// One bar for a whole command, with a total once all lengths are known.
@Suite struct CommandProgressTests {
    private let folder: TemporaryFolder
    private let files: [String]

    init() throws {
        self.folder = try TemporaryFolder()
        try self.folder.makeFolder("f")
        self.files = try [600_000, 400_000].map { [folder] in try folder.write(makeContent($0), to: "f/\($0)") }
    }

    /// The states of the line, without the erased ones.
    private func progress(_ arguments: [String]) throws -> [Substring] {
        let outcome = try Launch(arguments + ["--progress", "always"]).with {
            $0.prelude = "cd '\(self.folder.path)'; exec 1>/dev/null"
        }.run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        return outcome.errorText.split(separator: "\r").filter { !$0.allSatisfy { $0 == " " } }
    }

    @Test(arguments: [["cat"], ["sum"], ["cat", "-z"], ["test"]]) func allFilesHaveOneTotal(command: [String]) throws {
        let lines = try self.progress(command + self.files)
        #expect(!lines.isEmpty && lines.allSatisfy { $0.contains(" of 1.0 MB [") }, "\(lines)")
        #expect(lines.first?.hasPrefix("0 of 2, ") ?? false, "\(lines)")
    }

    @Test func aFileThatIsNamedThreeTimesCountsThreeTimes() throws {
        let lines = try self.progress(["cat", self.files[0], self.files[0], self.files[0]])
        #expect(!lines.isEmpty && lines.allSatisfy { $0.contains(" of 1.8 MB [") }, "\(lines)")
    }

    /// A list of unknown length has no total, and its sources are not kept.
    @Test func aListHasACountOfBytes() throws {
        let list = try self.folder.write(([self.files[0]] + self.files).joined(separator: "\n"), to: "list")
        let lines = try self.progress(["cat", "--from-file", list, "--limit-rate", "3M"])
        #expect(lines.contains { $0.hasPrefix("1.") } && !lines.contains { $0.contains("%") }, "\(lines)")
    }

    @Test func filesThatAreMissingDoNotHideTheTotal() throws {
        let outcome = try Launch(["cat", "none"] + self.files + ["--progress", "always"]).run()
        #expect(outcome.ending == .status(66))
        #expect(outcome.errorText.contains(" of 1.0 MB ["), "\(outcome.errorText)")
    }

    /// The decoded length is unknown, but the length of the input is known.
    @Test(arguments: [["test"], ["extract", "-C", "out"], ["cat", "-z"]]) func anArchiveHasTheTotalOfItsInput(
        command: [String]
    )
        throws
    {
        try self.folder.pack(["f"], into: "x.tgz")
        let size = try readFile(self.folder.path("x.tgz")).count
        let lines = try self.progress(command + ["x.tgz"])
        #expect(!lines.isEmpty, "\(lines)")
        for line in lines {
            #expect(line.contains(" of \(byteCountText(Int64(size)))") && line.contains("%"), "\(line)")
        }
    }

    @Test(arguments: ["cat", "sum", "test"]) func theLengthIsKnownAfterTheFirstResponse(command: String) throws {
        let content = makeContent(900_000)
        let server = try RecordingServer { _ in RecordingServer.answer("200 OK", [], content) }
        let lines = try self.progress([command, "http://127.0.0.1:\(server.port)/x"])
        #expect(!lines.isEmpty && lines.allSatisfy { $0.contains(" of 900 kB [") }, "\(lines)")
    }

    @Test func aFolderIsUploadedWithOneTotal() throws {
        let server = try RecordingServer { _ in RecordingServer.answer("201 Created") }
        let lines = try self.progress(["upload", "f", "http://127.0.0.1:\(server.port)/"])
        #expect(server.requests.count == 2)
        #expect(lines.first?.hasPrefix("0 of 2 files, ") ?? false, "\(lines)")
        #expect(lines.contains { $0.contains(" of 1.0 MB [") }, "\(lines)")
        #expect(!lines.contains { $0.contains(" of 600 kB") || $0.contains(" of 400 kB") }, "\(lines)")
    }
}
#endif
