#if Command
import BlobTestSupport
import Foundation
import Testing

/// The bytes that `cat` prints, and which of them.
@Suite struct CatTests {
    private let folder: TemporaryFolder
    private let content = makeContent(600_000)
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write(self.content, to: "content")
    }

    @Test(arguments: [0, 1, 4095, 65_536, 262_144, 262_145, 600_000])
    func everyLengthIsPrintedWhole(byteCount: Int) throws {
        let content = Array(self.content.prefix(byteCount))
        let file = try self.folder.write(content, to: "part")
        expect(try Launch("cat", file).run(), prints: content)
        expect(try Launch("cat", "-").run(input: content), prints: content)
    }

    @Test func theBytesOfAFIFOArePrinted() throws {
        let fifo = try self.folder.makeFIFO("fifo")
        let process = try Launch("cat", fifo, "--offset", "2").start()
        let writer = try opened(fifo, O_WRONLY)
        #expect(write(writer, "hello", 5) == 5)
        close(writer)
        expect(process.finish(), prints: "llo")
    }

    @Test(.enabled(if: isLinux)) func aFileThatTellsNoSizeIsPrinted() throws {
        #expect(try Launch("cat", "/proc/self/status").run().text.contains("\nPid:\t"))
    }

    @Test func nonBlockingPipesAreWaitedFor() throws {
        let launch = Launch("cat", "-").with {
            $0.input = .nonBlockingPipe
            $0.output = .nonBlockingPipe
        }
        expect(try launch.run(input: self.content), prints: self.content)
        let process = try Launch("cat", self.file, self.file).with { $0.output = .nonBlockingPipe }.start()
        process.waitForOutput(1)
        expect(process.finish(), prints: self.content + self.content)
    }

    @Test func withoutArgumentsStandardInputIsRead() throws {
        expect(try Launch("cat").run(input: self.content), prints: self.content)
        expect(try Launch("cat", "-o", "-").run(input: self.content), prints: self.content)
        expect(try Launch("cat", "--offset", "599999").run(input: self.content), prints: Array(self.content.suffix(1)))
        let sum = try Launch("sum", "-").run(input: self.content).text
        expect(try Launch("sum").run(input: self.content), prints: sum)
    }

    @Test func aMemberOfStandardInputNeedsNoDashes() throws {
        let archive = try readFile(self.folder.pack(["content"], into: "x.tar"))
        expect(try Launch("cat", "-#content").run(input: archive), prints: self.content)
        expect(try Launch("cat", "--", "-#content").run(input: archive), prints: self.content)
        #expect(try Launch("sum", "-#content").run(input: archive).text.hasSuffix("#content\n"))
    }

    @Test func theErrorOfTheFirstOfSeveralIsTheStatus() throws {
        let outcome = try Launch("cat", self.folder.path, self.file, self.folder.path("none"), self.file).run()
        #expect(outcome.ending == .status(65))
        #expect(outcome.errorText.split(separator: "\n").map { $0.prefix(14) } == ["blob: unsuppor", "blob: notFound"])
        let isEqual = outcome.output == self.content + self.content
        #expect(isEqual)
        // A file that appears when it is complete does not appear.
        let target = self.folder.path("target")
        expect(
            try Launch("cat", self.folder.path("none"), self.file, "-o", target).run(), failsWith: "notFound", 66)
        #expect(self.folder.names == ["content"])
    }

    @Test(.enabled(if: isLinux)) func devicesAndFilesThatTellAWrongSizeAreRead() throws {
        expect(try Launch("cat", "/dev/null").run(), prints: "")
        expect(try Launch("cat", "/dev/zero", "--length", "5").run(), prints: [0, 0, 0, 0, 0])
        for path in ["/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/uevent_seqnum", "/proc/version"] {
            guard let bytes = FileManager.default.contents(atPath: path), !bytes.isEmpty else { continue }
            expect(try Launch("cat", path).run(), prints: [UInt8](bytes))
        }
        let devices = try FileManager.default.contentsOfDirectory(atPath: "/sys/class/block").map { "/dev/\($0)" }
        for device in devices.sorted() {
            guard let file = FileHandle(forReadingAtPath: device), let bytes = try? file.read(upToCount: 5000),
                bytes.count == 5000
            else { continue }
            expect(
                try Launch("cat", device, "--offset", "100", "--length", "4900").run(), prints: [UInt8](bytes[100...]))
            break
        }
    }

    @Test func bytesOfInputArePrintedAsTheyCome() throws {
        let process = try Launch("cat", "-").start()
        for count in 1...5 {
            process.write([UInt8(count)])
            process.waitForOutput(count)
        }
        process.closeInput()
        expect(process.finish(), prints: [1, 2, 3, 4, 5])
    }

    // MARK: Offset and length

    @Test(arguments: [
        (0, 0), (0, 1), (1, 1), (599_999, 1), (599_999, 5), (600_000, 0), (600_000, 9), (100, 300_000),
        (0, 600_000), (0, Int.max), (262_144, 262_144),
    ])
    func offsetAndLengthSelectBytes(offset: Int, length: Int) throws {
        let expected = Array(self.content.dropFirst(offset).prefix(length))
        let options = ["--offset", "\(offset)", "--length", "\(length)"]
        expect(try Launch(["cat", self.file] + options).run(), prints: expected)
        expect(try Launch(["cat"] + options + ["-"]).run(input: self.content), prints: expected)
    }

    @Test func anOffsetAloneGoesToTheEnd() throws {
        expect(try Launch("cat", self.file, "--offset=599990").run(), prints: Array(self.content.suffix(10)))
        expect(try Launch("cat", self.file, "--offset=600000").run(), prints: [UInt8]())
        for option in [["--offset=-10"], ["--offset", "-10"]] {
            expect(try Launch(["cat", self.file] + option).run(), prints: Array(self.content.suffix(10)))
        }
        expect(
            try Launch("cat", "--offset", "-1k", self.file, "--length", "5").run(),
            prints: Array(self.content.suffix(1024).prefix(5)))
        expect(try Launch("cat", self.file, "--offset", "-1G").run(), prints: self.content)
        expect(
            try Launch("cat", "--offset", "-10").run(input: self.content), failsWith: "unsupported", 65,
            saying: "length is unknown")
    }

    @Test func anOffsetPastTheEndIsRefused() throws {
        for options in [
            ["--offset", "600001"], ["--offset", "\(Int64.max)"], ["--offset", "600001", "--length", "3"],
        ] {
            expect(
                try Launch(["cat", self.file] + options).run(), failsWith: "invalidArgument", 64, saying: "600000")
            expect(
                try Launch(["cat", "-"] + options).run(input: self.content), failsWith: "invalidArgument", 64,
                saying: "600000")
        }
        expect(
            try Launch("cat", self.file, self.file, "--offset", "1200001").run(), failsWith: "invalidArgument", 64,
            saying: "1200000")
    }

    @Test func offsetsPastFourGiBAreExact() throws {
        let file = try self.folder.write("", to: "sparse")
        let descriptor = try opened(file, O_WRONLY)
        try #require(pwrite(descriptor, "0123456789", 10, 5_000_000_000) == 10)
        close(descriptor)
        expect(try Launch("cat", file, "--offset", "5000000000", "--length", "10").run(), prints: "0123456789")
        expect(try Launch("cat", file, "--offset", "5000000005").run(), prints: "56789")
        expect(try Launch("cat", file, "--offset", "4999999999", "--length", "2").run(), prints: "\0" + "0")
        expect(try Launch("cat", file, "--offset", "5000000010").run(), prints: "")
        expect(
            try Launch("cat", file, "--offset", "5000000011").run(), failsWith: "invalidArgument", 64,
            saying: "5000000010")
        expect(
            try Launch("cat", file, self.file, "--offset", "5000000009", "--length", "2").run(),
            prints: Array("9".utf8) + self.content.prefix(1))
        expect(
            try Launch("cat", file, "--ranges", "-").run(input: Array("5000000001 3\n".utf8)), prints: "123")
    }

    @Test func severalLocatorsAreOneWhole() throws {
        let first = try self.folder.write("hello ", to: "a")
        let second = try self.folder.write("world", to: "b")
        let empty = try self.folder.write("", to: "empty")
        let all = ["cat", first, empty, second, empty]
        let whole = Array("hello world".utf8)
        expect(try Launch(all).run(), prints: whole)
        for offset in 0...whole.count {
            for length in [0, 1, 3, whole.count] {
                expect(
                    try Launch(all + ["--offset", "\(offset)", "--length", "\(length)"]).run(),
                    prints: Array(whole.dropFirst(offset).prefix(length)))
            }
        }
        expect(
            try Launch("cat", first, "-", second, "--offset", "4", "--length", "6").run(input: Array("YOU ".utf8)),
            prints: "o YOU ")
    }

    @Test func whatCameBeforeAMissingLocatorIsPrinted() throws {
        let first = try self.folder.write("hello", to: "a")
        let arguments = [first, self.folder.path("none"), first]
        expect(
            try Launch(["cat", "--fail-fast"] + arguments).run(), failsWith: "notFound", 66,
            saying: self.folder.path("none"), after: Array("hello".utf8))
        // Without the option the others are printed too, as by cat(1).
        expect(
            try Launch(["cat"] + arguments).run(), failsWith: "notFound", 66, saying: self.folder.path("none"),
            after: Array("hellohello".utf8))
        // With an offset the whole must be known first.
        expect(
            try Launch("cat", first, self.folder.path("none"), "--offset", "1").run(), failsWith: "notFound", 66)
    }

    // MARK: Limits and checks

    @Test func maxBytesIsALimitOfTheWhole() throws {
        for limit in [600_000, 600_001] {
            expect(try Launch("cat", self.file, "--max-bytes", "\(limit)").run(), prints: self.content)
        }
        for limit in [0, 1, 262_144, 599_999] {
            expect(
                try Launch("cat", self.file, "--max-bytes", "\(limit)").run(), failsWith: "limitExceeded", 65,
                saying: "\(limit)", after: Array(self.content.prefix(limit)))
        }
        expect(
            try Launch("cat", self.file, self.file, "--max-bytes", "600001").run(), failsWith: "limitExceeded", 65,
            after: self.content + self.content.prefix(1))
        expect(
            try Launch("cat", self.file, "--length", "10", "--max-bytes", "10").run(),
            prints: Array(self.content.prefix(10)))
        expect(
            try Launch("cat", "-", "--max-bytes", "2").run(input: [1, 2, 3]), failsWith: "limitExceeded", 65,
            after: [1, 2])
        expect(try Launch("cat", "-", "--max-bytes", "0").run(), prints: "")
    }

    @Test func verifyFirstPrintsTheSameBytes() throws {
        expect(try Launch("cat", "--verify-first", self.file).run(), prints: self.content)
        expect(
            try Launch("cat", "--verify-first", self.file, self.file, "--offset", "599999", "--length", "2").run(),
            prints: Array(self.content.suffix(1) + self.content.prefix(1)))
        expect(
            try Launch("cat", "--verify-first", self.file, "--ranges", "-").run(input: Array("1 2\n".utf8)),
            prints: Array(self.content[1..<3]))
        expect(
            try Launch("cat", "--verify-first", "--from-file", "-").run(input: Array(self.file.utf8)),
            prints: self.content)
    }

    @Test func whatIsReadOnceCannotBeVerifiedFirst() throws {
        expect(try Launch("cat", "--verify-first", "-").run(input: [1]), failsWith: "unsupported", 65, saying: "once")
        let fifo = try self.folder.makeFIFO("fifo")
        expect(try Launch("cat", "--verify-first", fifo).run(), failsWith: "unsupported", 65, saying: "once")
    }

    #if os(Linux)
    @Test func whatCannotBeRecognisedAgainCannotBeVerifiedFirst() throws {
        let outcome = try Launch("cat", "--verify-first", "/proc/version").run()
        expect(outcome, failsWith: "unsupported", 65)
        #expect(outcome.output.isEmpty)
    }
    #endif

    @Test func verifyFirstPrintsNothingWhenALaterLocatorFails() throws {
        expect(
            try Launch("cat", "--verify-first", self.file, self.folder.path("none")).run(), failsWith: "notFound", 66)
        expect(try Launch("cat", "--verify-first", self.file, "-").run(), failsWith: "unsupported", 65)
    }

    // MARK: Progress

    @Test func progressGoesToStandardErrorAlone() throws {
        let outcome = try Launch("cat", self.file, "--progress", "always").run()
        #expect(outcome.ending == .status(0))
        let isEqual = outcome.output == self.content
        #expect(isEqual)
        #expect(outcome.errorText.hasPrefix("\r"))
        #expect(outcome.errorText.contains(" of 600 kB [") && outcome.errorText.contains("] 43%, "))
        // Its line is taken away at the end.
        #expect(outcome.errorText.hasSuffix(" \r"))
        #expect(!outcome.errors.contains(UInt8(ascii: "\n")))
    }

    @Test func anErrorFollowsTheProgressOnALineOfItsOwn() throws {
        let outcome = try Launch("cat", self.file, self.folder.path("none"), "--progress", "always").run()
        #expect(outcome.ending == .status(66))
        let lines = outcome.errorText.split(separator: "\r")
        #expect(lines.count > 1)
        #expect(lines.last?.hasPrefix("blob: notFound: ") ?? false)
        #expect(lines.dropLast().last?.allSatisfy { $0 == " " } ?? false)
    }

    @Test func withoutATerminalThereIsNoProgress() throws {
        for options in [[], ["--progress", "auto"], ["--progress", "never"]] {
            expect(try Launch(["cat", self.file] + options).run(), prints: self.content)
        }
    }

    // MARK: Several processes, and files that change

    @Test func twoReadOneFileAtOnce() throws {
        let processes = try [Launch("cat", self.file).start(), Launch("cat", self.file).start()]
        for process in processes { process.waitForOutput(1) }
        for process in processes { expect(process.finish(), prints: self.content) }
    }

    @Test func aFileThatShrinksHasChanged() throws {
        // More than pipe and buffer hold, so that reading goes on after the file has shrunk.
        let content = makeContent(8 << 20)
        let file = try self.folder.write(content, to: "shrinking")
        let process = try Launch("cat", file).start()
        process.waitForOutput(1 << 20)
        try #require(truncate(file, 4 << 20) == 0)
        let outcome = process.finish()
        expect(outcome, failsWith: "changed", 75, saying: "shrank", after: Array(content.prefix(outcome.output.count)))
        #expect(outcome.output.count >= 1 << 20)
        #expect(outcome.output.count <= 4 << 20)
    }

    @Test func aFileThatGrowsIsPrintedToTheEndItHad() throws {
        let content = makeContent(8 << 20)
        let file = try self.folder.write(content, to: "growing")
        let process = try Launch("cat", file).start()
        process.waitForOutput(1)
        let descriptor = try opened(file, O_WRONLY | O_APPEND)
        #expect(write(descriptor, "more", 4) == 4)
        close(descriptor)
        expect(process.finish(), prints: content)
    }

    @Test func aSilentInputReachesTheIdleLimit() throws {
        let fifo = try self.folder.makeFIFO("fifo")
        let silent = try Launch("cat", fifo, "--idle-timeout", "0.1").run()
        expect(silent, failsWith: "timedOut", 75, saying: "0.1 seconds", "idle limit")
        let process = try Launch("cat", "-", "--idle-timeout", "0.1").start()
        process.write([1])
        process.waitForOutput(1)
        expect(process.finish(), failsWith: "timedOut", 75, saying: "at byte 1", after: [1])
        expect(
            try Launch("sum", fifo, "--idle-timeout", "0.1").run(), failsWith: "timedOut", 75, saying: "idle limit")
    }

    @Test func theStatusIsThatOfTheFirstErrorAlsoWhenAnotherEndsTheCommand() throws {
        let bytes = try self.folder.run("gzip", "-c", self.file).output
        let cut = try self.folder.write(Array(bytes.prefix(bytes.count / 2)), to: "cut.gz")
        let outcome = try Launch("cat", self.folder.path("none"), "gzip+\(cut)").run()
        #expect(outcome.ending == .status(66), "\(outcome.errorText)")
        #expect(outcome.errorText.contains("notFound") && outcome.errorText.contains("truncated"))
    }

    @Test func aMissingFileBesideAListHidesNothingOfIt() throws {
        let list = try self.folder.write("\(self.file)\n", to: "list")
        let outcome = try Launch("cat", self.folder.path("none"), "--from-file", list).run()
        let isEqual = outcome.output == self.content
        #expect(isEqual && outcome.ending == .status(66))
    }
}
#endif
