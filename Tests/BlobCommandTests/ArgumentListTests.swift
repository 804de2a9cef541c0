#if Command
import BlobTestSupport
import Foundation
import Testing

/// Lists of names, which the argument parser is given as one argument where they follow each other.
@Suite struct ArgumentListTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        for name in ["a", "b", "c", "d", "-x", "-F"] { try self.folder.write(name, to: name) }
    }

    private func launch(_ arguments: String...) -> Launch {
        Launch(arguments).inFolder(self.folder)
    }

    @Test(arguments: [
        "a b c d", "a --resume b c d", "--retry 1 a b c d", "a b --retry 1 c d", "a b c d --retry=1", "a b -- c d",
        "-- a b c d", "a --resume -- b c d", "a b c --retry 1 d", "--progress never --resume a b c d",
    ])
    func namesStandBetweenOptions(_ line: String) throws {
        let arguments = ["cat"] + line.split(separator: " ").map(String.init)
        expect(try Launch(arguments).inFolder(self.folder).run(), prints: "abcd")
    }

    @Test func standardInputIsAmongThem() throws {
        for line in ["- b c", "a - c", "a b -"] {
            let arguments = ["cat"] + line.split(separator: " ").map(String.init)
            let outcome = try Launch(arguments).inFolder(self.folder).run(input: Array("IN".utf8))
            expect(outcome, prints: line.replacing("-", with: "IN").replacing(" ", with: ""))
        }
    }

    @Test func namesBehindTheTerminatorMayBeginWithAHyphen() throws {
        expect(try self.launch("cat", "a", "--", "-x", "b").run(), prints: "a-xb")
        // Also where one looks like an option of another command.
        expect(try self.launch("cat", "--", "-F", "a", "-F", "a").run(), prints: "-Fa-Fa")
    }

    @Test func aCommandSeesThemAll() throws {
        try self.folder.write("0 1\n", to: "ranges")
        let outcome = try self.launch("cat", "a", "b", "--ranges", "ranges").run()
        expect(outcome, failsWith: "invalidArgument", 64, saying: "exactly one locator")
        let sums = try self.launch("sum", "a", "", "b").run()
        #expect(sums.text.split(separator: "\n").map(\.last) == ["a", "b"])
        #expect(sums.ending == .status(64) && sums.errorText.contains("The locator is empty"))
    }

    /// Half a minute and more when the parser is given them one by one.
    @Test func tenThousandNamesTakeSecondsAtMost() throws {
        let launch = Launch(["cat", "--progress", "never"] + Array(repeating: "a", count: 10_000))
        let start = ContinuousClock.now
        let outcome = try launch.inFolder(self.folder).run()
        expect(outcome, prints: String(repeating: "a", count: 10_000))
        #expect(ContinuousClock.now - start < .seconds(20))
    }

}
#endif
