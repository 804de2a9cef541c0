import ArgumentParser
import BlobCommandLine
import BlobStreamsStandard
import BlobStreamsTesting

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Runs the conformance kit on a source; prints the contracts that it breaks.",
        discussion: "Reads the source many times; past 64 MiB, only its beginning and end are compared.")

    @Argument(help: "The locator to check, which must be readable more than once.")
    var locator: String

    @OptionGroup var source: SourceOptions

    func run() throws {
        let context = self.source.makeContext()
        let source = try self.source.source(self.locator, context)
        try self.source.requireRepeatable(source, context, purpose: "and the check reads it many times")
        let found = try violations(of: source)
        for violation in found { try printLine(violation.description) }
        guard found.isEmpty else { throw ExitCode(BlobError.Code.misbehavingPlugin.exitStatus) }
        try printLine("C1-C15 hold for \(printableArgument(self.locator))")
    }
}
