#if Command
import BlobTestSupport
import Foundation
import Testing

/// `--from-file` and `--ranges`: lists that `cat` reads while it prints.
@Suite struct CatListTests {
    private let folder: TemporaryFolder
    private let first: String
    private let second: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.first = try self.folder.write("hello ", to: "a")
        self.second = try self.folder.write("world", to: "b")
    }

    private func list(_ lines: String...) -> [UInt8] { Array(lines.map { $0 + "\n" }.joined().utf8) }

    /// Runs with the list as a file and as standard input; both must end alike.
    private func run(_ option: String, _ list: [UInt8], _ arguments: String...) throws -> Outcome {
        let file = try self.folder.write(list, to: "list")
        let fromFile = try Launch(["cat"] + arguments + [option, file]).run()
        let fromInput = try Launch(["cat"] + arguments + [option, "-"]).run(input: list)
        let isEqual = fromFile.output == fromInput.output
        #expect(isEqual)
        #expect(fromFile.ending == fromInput.ending)
        return fromFile
    }

    // MARK: Locators

    @Test func theLocatorsOfAListFollowThoseOfTheArguments() throws {
        let list = self.list(self.second, "file://\(self.first)", self.second)
        expect(try self.run("--from-file", list), prints: "worldhello world")
        expect(try self.run("--from-file", list, self.first), prints: "hello worldhello world")
    }

    @Test func aMissingLastNewlineAndEmptyLinesAreFine() throws {
        expect(try self.run("--from-file", []), prints: "")
        expect(try self.run("--from-file", self.list("", "", "")), prints: "")
        expect(try self.run("--from-file", Array(self.first.utf8)), prints: "hello ")
        expect(
            try self.run("--from-file", Array("\n\n\(self.first)\n\n\(self.second)".utf8)), prints: "hello world")
    }

    @Test func aLineIsReadAsItIs() throws {
        try self.folder.write("spaces", to: " x ")
        try self.folder.write(Array("raw".utf8), to: [0xFF])
        try self.folder.write("return", to: "c\r")
        let list = self.list(" x ", "c\r") + [0xFF, 0x0A]
        try self.folder.write(list, to: "list")
        let launch = Launch("cat", "--from-file", "list").inFolder(self.folder)
        expect(try launch.run(), prints: "spacesreturnraw")
    }

    @Test func membersOfSharedArchivesArePrintedInOrder() throws {
        let tar = try self.folder.pack(["a", "b"], into: "x.tar")
        let list = self.list("\(tar)#b", "\(tar)#a", self.first, "\(tar)#@1", "tar+file://\(tar)#b", "\(tar)#b")
        expect(try self.run("--from-file", list), prints: "worldhello hello worldworldworld")
        let missing = try self.run("--from-file", self.list("\(tar)#a", "\(tar)#c", "\(tar)#b"))
        #expect(missing.text == "hello world")
        #expect(missing.ending == .status(66))
    }

    /// A gzip with a wrong checksum at its end, around a tar whose members are right.
    private func damagedArchive() throws -> String {
        let bytes = try readFile(self.folder.pack(["a", "b"], into: "x.tgz"))
        return try self.folder.write(bytes.flipping(at: bytes.count - 5), to: "damaged.tgz")
    }

    @Test func damageAtTheEndOfASharedArchiveEndsTheJob() throws {
        let tgz = try self.damagedArchive()
        for arguments in [["cat", "\(tgz)#a", "\(tgz)#b"], ["cat", "\(tgz)#b", "\(tgz)#a"]] {
            let outcome = try Launch(arguments).run()
            #expect(outcome.ending == .status(65))
        }
        let list = self.list("\(tgz)#a", "\(tgz)#b")
        #expect(try self.run("--from-file", list).ending == .status(65))
        let sums = try Launch("sum", "\(tgz)#a", self.first, "\(tgz)#b").run()
        #expect(sums.ending == .status(65))
        // No digest of a member is printed, and that of the other file is.
        #expect(sums.text.split(separator: "\n").count == 1)
    }

    @Test func membersOfACompressedArchiveArePrintedAndSummedInTheOrderOfTheArguments() throws {
        let tgz = try self.folder.pack(["a", "b"], into: "x.tgz")
        for index in ["auto", "none"] {
            expect(
                try Launch("cat", "--index", index, "\(tgz)#b", "\(tgz)#a", "\(tgz)#@1", "\(tgz)#a").run(),
                prints: "worldhello worldhello ")
            let together = try Launch("sum", "--index", index, "\(tgz)#b", self.first, "\(tgz)#a", "\(tgz)#b").run()
            let apart = try ["\(tgz)#b", self.first, "\(tgz)#a", "\(tgz)#b"].map { try Launch("sum", $0).run().text }
            #expect(together.text == apart.joined())
            let missing = try Launch("sum", "--index", index, "\(tgz)#b", "\(tgz)#c", "\(tgz)#a").run()
            #expect(missing.ending == .status(66))
            #expect(missing.text.split(separator: "\n").count == 2)
        }
    }

    /// Members wait in a temporary file for their turn; those that do not fit there are read again.
    @Test func membersOfACompressedArchiveWaitForTheirTurn() throws {
        let names = (0..<40).map { "n\($0)" }
        let contents = (0..<40).map { number in
            (0..<(number * 20_000)).map { UInt8(truncatingIfNeeded: $0 &* (number + 3) >> 2) }
        }
        for (name, content) in zip(names, contents) { try self.folder.write(content, to: name) }
        let tgz = try self.folder.pack(names, into: "x.tgz")
        let order = (0..<40).map { $0 * 17 % 40 } + [3]
        let list = Array(order.map { "\(tgz)#n\($0)\n" }.joined().utf8)
        let expected = order.flatMap { contents[$0] }
        for limit in ["0", "1000000", "1000000000"] {
            expect(
                try self.run("--from-file", list, "--index", "none", "--spool-limit", limit), prints: expected)
        }
        let arguments = ["cat", "--index", "none"] + order.map { "\(tgz)#n\($0)" }
        expect(try Launch(arguments).run(), prints: expected)
        let missing = try self.run("--from-file", self.list("\(tgz)#n9", "\(tgz)#n50", "\(tgz)#n1"), "--index", "none")
        #expect(missing.output == contents[9] + contents[1])
        #expect(missing.ending == .status(66))
    }

    @Test func aListOfManyFilesIsPrintedInOrder() throws {
        let count = 5000
        var expected: [UInt8] = []
        var names: [String] = []
        for number in 0..<count {
            names.append(try self.folder.write("\(number)\n", to: "n\(number)"))
            expected += Array("\(number)\n".utf8)
        }
        let list = Array(names.joined(separator: "\n").utf8)
        expect(try Launch("cat", "--from-file", "-").run(input: list), prints: expected)
    }

    @Test func aBadLineIsReportedAndTheOthersArePrinted() throws {
        let missing = self.folder.path("none")
        expect(
            try self.run("--from-file", self.list(self.first, missing, self.second)), failsWith: "notFound", 66,
            saying: missing, after: Array("hello world".utf8))
        expect(
            try self.run("--from-file", self.list(self.first, missing, self.second), "--fail-fast"),
            failsWith: "notFound", 66, saying: missing, after: Array("hello ".utf8))
        expect(
            try self.run("--from-file", self.list(self.first, self.folder.path, self.second)),
            failsWith: "unsupported", 65, after: Array("hello world".utf8))
        expect(
            try self.run("--from-file", self.list(self.first, "bogus:x")), failsWith: "notRegistered", 64,
            after: Array("hello ".utf8))
    }

    @Test func aLineThatIsTooLongIsRefused() throws {
        expect(
            try self.run("--from-file", Array(repeating: 0x61, count: 3 << 20)), failsWith: "limitExceeded", 65,
            saying: "1048576")
    }

    /// Each selector would be decoded, and looked for.
    @Test func aLineOfManySelectorsIsRefusedBeforeItIsParsed() throws {
        for count in [9, 100_000] {
            let line = "\(self.first)#" + Array(repeating: "m", count: count).joined(separator: "!/")
            let outcome = try self.run("--from-file", self.list(self.second, line))
            expect(
                outcome, failsWith: "invalidLocator", 64, saying: "more than 8 selectors", after: Array("world".utf8))
        }
    }

    @Test func aListThatIsNotThereIsNotFound() throws {
        expect(
            try Launch("cat", "--from-file", self.folder.path("none")).run(), failsWith: "notFound", 66)
        expect(
            try Launch("cat", self.first, "--ranges", self.folder.path("none")).run(), failsWith: "notFound", 66)
    }

    @Test func aListIsFollowedAsItComes() throws {
        let process = try Launch("cat", "--from-file", "-").start()
        process.write(self.list(self.first))
        process.waitForOutput(6)
        process.write(self.list(self.second))
        process.waitForOutput(11)
        process.closeInput()
        expect(process.finish(), prints: "hello world")
    }

    @Test func theInputCannotBeListAndEntry() throws {
        expect(
            try Launch("cat", "--from-file", "-").run(input: self.list(self.first, "-")), failsWith: "unsupported", 65,
            after: Array("hello ".utf8))
        // Named by a file, it may.
        let list = try self.folder.write(self.list(self.first, "-"), to: "list")
        expect(try Launch("cat", "--from-file", list).run(input: [65]), prints: "hello A")
    }

    // MARK: Ranges

    @Test func rangesArePrintedInTheirOrder() throws {
        let file = try self.folder.write("0123456789", to: "digits")
        expect(try self.run("--ranges", self.list("0 3", "5 2", "9 1"), file), prints: "012569")
        expect(try self.run("--ranges", self.list("5 5", "0 4", "3 4", "3 4"), file), prints: "56789012334563456")
        expect(try self.run("--ranges", self.list("", " 1\t2 ", "", "3  1\r"), file), prints: "123")
        expect(try self.run("--ranges", Array("8 2".utf8), file), prints: "89")
        expect(try self.run("--ranges", [], file), prints: "")
        expect(try self.run("--ranges", self.list("10 0", "0 0", "0 10"), file), prints: "0123456789")
    }

    @Test func aRangePastTheEndIsRefusedAfterATruePrefix() throws {
        let file = try self.folder.write("0123456789", to: "digits")
        expect(
            try self.run("--ranges", self.list("0 2", "8 3", "0 1"), file), failsWith: "invalidArgument", 64,
            saying: "8 3", "10 bytes", after: Array("0189".utf8))
        expect(
            try self.run("--ranges", self.list("0 2", "11 1"), file), failsWith: "invalidArgument", 64, saying: "11",
            after: Array("01".utf8))
        expect(try self.run("--ranges", self.list("11 0"), file), failsWith: "invalidArgument", 64)
        expect(
            try self.run("--ranges", self.list("9223372036854775807 9223372036854775807"), file),
            failsWith: "invalidArgument", 64)
    }

    @Test(arguments: [
        "x", "1", "1 2 3", "-1 2", "1 -2", "1,2", "0x1 2", "1 9223372036854775808", "1.0 2", "1 2k", "\u{0} 1", "é é",
    ])
    func whatIsNoRangeIsRefusedAfterATruePrefix(line: String) throws {
        let file = try self.folder.write("0123456789", to: "digits")
        expect(
            try self.run("--ranges", self.list("0 2", line, "0 1"), file), failsWith: "invalidArgument", 64,
            after: Array("01".utf8))
    }

    @Test func rangesCountTowardsMaxBytes() throws {
        let file = try self.folder.write("0123456789", to: "digits")
        expect(
            try self.run("--ranges", self.list("0 2", "5 3"), file, "--max-bytes", "4"), failsWith: "limitExceeded",
            65, after: Array("0156".utf8))
    }

    @Test func rangesAreFollowedAsTheyCome() throws {
        let process = try Launch("cat", self.second, "--ranges", "-").start()
        process.write(self.list("0 2"))
        process.waitForOutput(2)
        process.write(self.list("4 1"))
        process.waitForOutput(3)
        process.closeInput()
        expect(process.finish(), prints: "wod")
    }

    @Test func aSourceThatIsReadOnceHasOneRange() throws {
        let list = try self.folder.write(self.list("1 3"), to: "list")
        expect(try Launch("cat", "-", "--ranges", list).run(input: Array("hello".utf8)), prints: "ell")
        try self.folder.write(self.list("1 3", "0 1"), to: "list")
        expect(
            try Launch("cat", "-", "--ranges", list).run(input: Array("hello".utf8)), failsWith: "unsupported", 65,
            after: Array("ell".utf8))
    }
}
#endif
