#if Command
import BlobTestSupport
import Foundation
import Testing

/// What the command says about helper processes.
@Suite(.enabled(if: isLinux)) struct HelperCommandTests {
    private let folder: TemporaryFolder
    private let archive: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.archive = try self.folder.write(
            "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://h/one\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
                + "WARC-Record-ID: <urn:x:1>\r\nContent-Length: 4\r\n\r\ntext\r\n\r\n", to: "a.warc")
    }

    private func run(_ calls: UnconfinedHelper.Calls?, _ arguments: String...) throws -> Outcome {
        var launch = Launch(arguments)
        if let calls {
            launch.prelude = "export BLOB_ARCHIVE_HELPER=\(try UnconfinedHelper.make(in: self.folder, refusing: calls))"
        }
        return try launch.run()
    }

    @Test(arguments: UnconfinedHelper.Calls.allCases)
    func anArchiveIsRefusedWhereTheSystemDoesNotConfineItsHelper(_ calls: UnconfinedHelper.Calls) throws {
        let missing = calls == .filter ? "no system call filter" : "no memory limit, no file limits"
        for command in [["ls", self.archive], ["cat", "\(self.archive)#one"]] {
            let refused = try self.run(calls, command[0], command[1])
            expect(refused, failsWith: "unsupported", 65, saying: "Use --allow-format warc to allow this.")
            #expect(refused.errorText.contains(missing))
            let allowed = try self.run(calls, command[0], command[1], "--allow-format", "warc")
            #expect(allowed.ending == .status(0))
            #expect(allowed.text == (command[0] == "ls" ? "one\n" : "text"))
            #expect(allowed.errorText == "")
            let verbose = try self.run(calls, command[0], command[1], "--allow-format", "warc", "-v")
            #expect(verbose.errorText == "blob: the helper process is not confined by the system: \(missing).\n")
        }
        let info = try self.run(calls, "info", self.archive)
        #expect(info.text.contains("\nhelper: not confined by the system: \(missing)\n"))
    }

    @Test func theConfinementIsShown() throws {
        #expect(try self.run(nil, "info", self.archive).text.contains("\nhelper: confined\n"))
        #expect(try self.run(nil, "info", "--json", self.archive).text.contains("\"helper\":\"confined\""))
        let verbose = try self.run(nil, "ls", "-v", self.archive)
        #expect(verbose.errorText == "blob: the helper process is confined.\n" && verbose.text == "one\n")
        expect(try self.run(nil, "ls", self.archive), prints: "one\n")
    }
}
#endif
