import ArgumentParser
import BlobCommandLine
import BlobStandardSources
import BlobStreamsTesting

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Runs the conformance kit on a source; prints the contracts that it breaks.",
        discussion: "Reads the source many times; past 64 MiB, only its beginning and end are compared.")

    @Argument(help: "The locator to check, which must be readable more than once.")
    var locator: String

    @Option(help: "Show progress: auto, always, never.")
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func run() throws {
        let context = try self.source.makeContext()
        let source = try self.source.makeSources().source(self.locator, context)
        try self.source.requireRepeatable(source, context, purpose: "and the check reads it many times")
        let line = ProgressLine(self.progress, of: .items("check"))
        let found = try violations(of: PasswordSource(base: source, password: context.password)) { count, total in
            line.show(Int64(count), of: Int64(total))
        }
        line.clear()
        for violation in found { try printLine(violation.description) }
        guard found.isEmpty else { throw ExitCode(BlobError.Code.misbehavingPlugin.exitStatus) }
        try printLine("C1-C15 hold for \(printableArgument(self.locator))")
    }
}

/// A source that is read with a password, whatever the context has.
private struct PasswordSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let password: (@Sendable (BlobLocator?) throws -> String?)?

    func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobReader {
        var context = context
        context.password = self.password
        return try self.base.makeReader(at: byteOffset, matching: validator, context: context)
    }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        var context = context
        context.password = self.password
        return try self.base.describe(context)
    }
}
