#if Command
import BlobTestSupport
import Foundation
import Testing

/// What words can be completed to, and the script for bash.
@Suite struct CompletionTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        try self.folder.makeFolder("sub")
        try self.folder.write("", to: "sub/file one")
        try self.folder.write("", to: "sum.txt")
        try self.folder.run(
            "python3", "-c",
            """
            import zipfile
            with zipfile.ZipFile("a.zip", "w") as archive:
                for name in ["dir/a.txt", "dir/b.txt", "top#x"]: archive.writestr(name, "")
            """)
    }

    private func complete(_ words: String...) throws -> [String] {
        let outcome = try Launch(["complete", "--"] + words).inFolder(self.folder).run()
        #expect(outcome.ending == .status(0) && outcome.errors.isEmpty)
        return outcome.text.split(separator: "\n").map(String.init)
    }

    @Test func commandsOptionsAndTheirValuesAreThoseOfTheParser() throws {
        #expect(try self.complete("index", "b") == ["build"])
        #expect(try !self.complete("").contains("complete"))
        #expect(try self.complete("extract", "--max-m") == ["--max-members"])
        #expect(try self.complete("cat", "--progress", "a") == ["auto", "always"])
        #expect(try self.complete("sum", "--algorithm", "sha256") == ["sha256"])
        #expect(try self.complete("cat", "--index", "au") == ["auto"])
        #expect(try self.complete("cat", "--output", "su") == ["sub/", "sum.txt"])
        #expect(try self.complete("form", "-F", "x=@su") == ["x=@sub/", "x=@sum.txt"])
    }

    @Test func locatorsAreFilesWrappersSchemesAndMembers() throws {
        #expect(try self.complete("cat", "sum.txt", "sub/") == ["sub/file one"])
        #expect(try self.complete("cat", "\(self.folder.path)/sub/f") == ["\(self.folder.path)/sub/file one"])
        #expect(try self.complete("cat", "gz") == ["gzip+"])
        #expect(try self.complete("cat", "gzip+su") == ["gzip+sub/", "gzip+sum.txt"])
        #expect(try self.complete("cat", "fi") == ["file:"])
        #expect(try self.complete("cat", "a.zip#") == ["a.zip#dir/", "a.zip#top%23x"])
        #expect(try self.complete("cat", "zip+a.zip#dir/b") == ["zip+a.zip#dir/b.txt"])
        #expect(try self.complete("cat", "sum.txt#") == [])
        #expect(try self.complete("cat", "missing#x") == [])
        #expect(try self.complete("cat", "--", "-") == [])
    }

    /// As bash calls it, which splits words at colons and equals signs.
    @Test func bashReplacesTheLastPartOfAWord() throws {
        let script = projectFolder.appendingPathComponent("Sources/blob/Shell/blob.bash").path
        func replies(_ line: String, _ words: String...) throws -> String {
            let program = """
                cd "$2"; . "$1"; compopt() { :; }; shift 2
                COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _blob
                printf '%s|' "${COMPREPLY[@]}"
                """
            let lines = [Launch.blob + line.dropFirst(4)] + [Launch.blob] + words
            return try FinishedProcess("bash", ["-c", program, "bash", script, self.folder.path] + lines).outputText
        }
        #expect(try replies("blob ex", "ex") == "extract|")
        #expect(try replies("blob cat su", "cat", "su") == "sub/|sum.txt|")
        #expect(try replies("blob cat sub/", "cat", "sub/") == #"sub/file\ one|"#)
        #expect(try replies(#"blob cat sub/file\ o"#, "cat", #"sub/file\ o"#) == #"sub/file\ one|"#)
        #expect(try replies("blob cat 'sub/file o", "cat", "'sub/file o") == "sub/file one|")
        #expect(try replies("blob cat --progress=n", "cat", "--progress", "=", "n") == "never|")
        #expect(try replies("blob cat --progress=", "cat", "--progress", "=") == "auto|always|never|")
        #expect(try replies("blob cat a.zip#d", "cat", "a.zip#d") == "a.zip#dir/|")
    }
}
#endif
