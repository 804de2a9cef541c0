#if Command
import BlobTestSupport
import Foundation
import Testing

/// What a person sees on a terminal, and what stays out of pipes.
@Suite(.enabled(if: isLinux)) struct TerminalTests {
    private let folder: TemporaryFolder
    private let terminal: Terminal
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.terminal = try Terminal()
        self.file = try self.folder.write(makeContent(3_000_000), to: "content")
    }

    /// A process whose errors, and output too if that is wanted, go to the terminal.
    private func launch(_ arguments: [String], outputToo: Bool = false) -> Launch {
        Launch(arguments).with {
            $0.errors = .file(self.terminal.theirs)
            if outputToo { $0.output = .file(self.terminal.theirs) }
        }
    }

    @Test func aTerminalBesideAPipeShowsABarThatGoesAway() throws {
        let outcome = try self.launch(["cat", self.file]).run()
        #expect(outcome.ending == .status(0))
        #expect(outcome.output.count == 3_000_000)
        let text = self.terminal.text
        #expect(text.contains(" of 3.0 MB [") && text.contains("%, ") && text.contains("B/s"), "\(text)")
        #expect(self.terminal.screen == [""])
    }

    /// The progress of `blob cat file` was among the text.
    @Test func dataOnTheTerminalHaveNoProgressAmongThem() throws {
        let text = try self.folder.write("hello\n", to: "a")
        for arguments in [["cat", text], ["cat", "-o", "-", text], ["form", "-F", "a=<\(text)", "--boundary", "B"]] {
            let terminal = try Terminal()
            let outcome = try Launch(arguments).with {
                ($0.output, $0.errors) = (.file(terminal.theirs), .file(terminal.theirs))
            }.run()
            #expect(outcome.ending == .status(0))
            #expect(terminal.text.contains("hello\r\n"))
            #expect(!terminal.text.contains("B/s"), "\(terminal.text)")
        }
    }

    @Test func resultsOnTheTerminalTakeThePlaceOfProgress() throws {
        let outcome = try self.launch(["sum", self.file], outputToo: true).run()
        #expect(outcome.ending == .status(0))
        #expect(self.terminal.text.contains(" of 3.0 MB ["))
        let expected = try Launch("sum", self.file).run().text
        #expect(self.terminal.screen.joined(separator: "\n") == expected)
    }

    @Test(arguments: [["-q"], ["--quiet"], ["--progress", "never"]])
    func quietShowsNothing(options: [String]) throws {
        for command in ["cat", "sum", "test"] {
            #expect(try self.launch([command, self.file] + options).run().ending == .status(0))
        }
        #expect(self.terminal.text == "")
    }

    @Test func everyCommandThatReadsMuchShowsProgress() throws {
        let gzip = self.folder.path("content.gz")
        try self.folder.run("gzip", "-k", "content")
        for arguments in [["test", self.file], ["index", "build", "-o", self.folder.path("x.index"), gzip]] {
            let before = self.terminal.text.count
            let outcome = try self.launch(arguments).run()
            #expect(outcome.ending == .status(0), "\(self.terminal.text)")
            #expect(self.terminal.text.count > before, "\(arguments)")
            #expect(self.terminal.screen == [""], "\(arguments)")
        }
    }

    @Test func aStallIsShown() throws {
        let process = try self.launch(["cat", "-"]).start()
        process.write([1, 2, 3])
        process.wait { self.terminal.text.contains("3 B, stalled 2 s") }
        process.write([4])
        process.wait { self.terminal.text.contains("\r4 B, ") }
        process.closeInput()
        #expect(process.finish().output == [1, 2, 3, 4])
        #expect(self.terminal.screen == [""])
    }

    @Test func anErrorStandsInThePlaceOfProgress() throws {
        let none = self.folder.path("none")
        let outcome = try self.launch(["cat", none, self.file]).run()
        #expect(outcome.ending == .status(66))
        #expect(self.terminal.screen.count == 2)
        #expect(self.terminal.screen[0].hasPrefix("blob: notFound: "))
    }

    @Test func nothingIsDrawnInAPipe() throws {
        for command in ["cat", "sum", "test"] {
            let outcome = try Launch(command, self.file).run()
            #expect(outcome.errors.isEmpty)
            #expect(!outcome.output.contains(UInt8(ascii: "\r")) || command == "cat")
        }
    }

    @Test func quietAndVerboseExcludeEachOther() throws {
        expect(try Launch("cat", "-q", "-v", self.file).run(), failsWith: "invalidArgument", 64)
    }
}
#endif
