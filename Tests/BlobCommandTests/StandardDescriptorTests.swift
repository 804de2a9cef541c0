#if Command
import BlobTestSupport
import Foundation
import Testing

/// Standard descriptors that are full, closed, or strange.
@Suite struct StandardDescriptorTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write("hello", to: "a")
    }

    /// Every command that prints something.
    private var commands: [[String]] {
        [
            ["cat", self.file], ["info", self.file], ["info", self.file, "--json"], ["sum", self.file], ["schemes"],
            ["test", self.file], ["--help"],
        ]
    }

    @Test(.enabled(if: isLinux)) func aFullDiskIsAnError() throws {
        let full = try opened("/dev/full", O_WRONLY)
        defer { close(full) }
        for command in self.commands {
            let outcome = try Launch(command).with { $0.output = .file(full) }.run()
            expect(outcome, failsWith: "io", 74, saying: "standard output", "No space left")
        }
    }

    @Test func aClosedOutputIsAnError() throws {
        for command in self.commands {
            let outcome = try Launch(command).with { $0.output = .closed }.run()
            expect(outcome, failsWith: "io", 74, saying: "standard output")
        }
        #expect(self.folder.read("a") == "hello")
    }

    @Test func anEmptyBlobNeedsNoOutput() throws {
        let empty = try self.folder.write("", to: "empty")
        let outcome = try Launch("cat", empty).with { $0.output = .closed }.run()
        expect(outcome, prints: "")
    }

    @Test func whatIsPrintedNeverGoesToAFileThatWasOpenedLater() throws {
        let target = self.folder.path("target")
        // Nothing goes to standard output here; all that is printed would go to the target.
        let quiet = try Launch("cat", self.file, "--output", target).with { $0.output = .closed }.run()
        expect(quiet, prints: "")
        #expect(self.folder.read("target") == "hello")
        unlink(target)
        let progress = try Launch("cat", self.file, "--output", target, "--progress", "always")
            .with { $0.errors = .closed }.run()
        expect(progress, prints: "")
        #expect(self.folder.read("target") == "hello")
        let all = Launch("cat", self.file, "--output", target, "--progress", "always").with {
            $0.input = .closed
            $0.output = .closed
            $0.errors = .closed
        }
        expect(try all.run(), prints: "")
        #expect(self.folder.read("target") == "hello")
    }

    @Test func anErrorWithoutStandardErrorKeepsItsStatus() throws {
        let target = self.folder.path("target")
        let outcome = try Launch("cat", self.file, self.folder.path("none"), "--output", target)
            .with { $0.errors = .closed }.run()
        #expect(outcome.ending == .status(66))
        #expect(self.folder.names == ["a"])
    }

    @Test func aClosedInputIsAnErrorAndNoOtherFile() throws {
        let closed = { (arguments: String...) in try Launch(arguments).with { $0.input = .closed }.run() }
        expect(try closed("cat", "-"), failsWith: "io", 74, saying: "stdin")
        expect(try closed("sum", "-"), failsWith: "io", 74, saying: "stdin")
        expect(try closed("cat", self.file), prints: "hello")
        let list = try self.folder.write("\(self.file)\n-\n", to: "list")
        expect(
            try closed("cat", "--from-file", list), failsWith: "io", 74, saying: "stdin", after: Array("hello".utf8))
        expect(
            try closed("cat", self.file, "-"), failsWith: "io", 74, saying: "stdin", after: Array("hello".utf8))
    }

    @Test func anInputThatIsAFileIsReadFromWhereItIs() throws {
        let descriptor = try opened(self.file, O_RDONLY)
        defer { close(descriptor) }
        lseek(descriptor, 2, SEEK_SET)
        expect(try Launch("cat", "-").with { $0.input = .file(descriptor) }.run(), prints: "llo")
    }

    @Test func anInputThatIsADeviceOrAFolder() throws {
        let null = try opened("/dev/null", O_RDONLY)
        defer { close(null) }
        expect(try Launch("cat", "-").with { $0.input = .file(null) }.run(), prints: "")
        let folder = try opened(self.folder.path, O_RDONLY)
        defer { close(folder) }
        expect(
            try Launch("cat", "-").with { $0.input = .file(folder) }.run(), failsWith: "unsupported", 65,
            saying: "directory")
    }

    @Test func anOutputThatIsAFileIsAppendedTo() throws {
        let target = try self.folder.write("say ", to: "target")
        let descriptor = try opened(target, O_WRONLY | O_APPEND)
        defer { close(descriptor) }
        expect(try Launch("cat", self.file).with { $0.output = .file(descriptor) }.run(), prints: "")
        #expect(self.folder.read("target") == "say hello")
    }
}
#endif
