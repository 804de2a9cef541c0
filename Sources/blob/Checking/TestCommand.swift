#if Command
import ArgumentParser
import BlobCommandLine
import BlobStreamsStandard

struct TestCommand: NameListCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Reads everything, and reports which checksums were right and what has none.",
        discussion: """
            Takes off the filters that the content or the name shows, such as gzip and xz, and reads all members of an \
            archive within them, each to its end. Every checksum of each format on the way is verified. A line for each \
            locator says OK and which checksums covered it, or FAILED, and each member that fails has a line of its own; \
            the errors are on standard error, with the byte. After an error the other members and locators are tested; \
            the status is that of the first error. 'no checksum' says that damage of the bytes cannot be seen, and is no \
            error: a plain file, a tar without a filter, xz or zstd written without a check.

            An archive within an archive is read as bytes, unless a locator names it: 'outer.zip#inner.tgz'. With -z, \
            members that are gzip and the like are decoded, too. Indexes are neither used nor made.
            """)

    @Argument(
        help: "The locators to test (default: '-', standard input); 'x.zip#dir/*' tests the members that match.")
    var locators: [String] = []

    @Flag(help: "Print a line for each member, with its checksums; -v does so, too.")
    var members = false

    @Flag(help: "Print one JSON object per member, and one per locator.")
    var json = false

    @Option(help: "End after this many bytes of all locators together, as decoded.")
    var maxBytes: ByteCount?

    @OptionGroup var pass: PassOptions

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard [.automatic, .none].contains(self.source.index) else {
            throw ValidationError("test goes without --index: it reads everything.")
        }
    }

    func run() throws {
        Verbosity.isJSON = self.json
        var context = try self.pass.makeContext(self.source)
        context.index = .none
        let sources = self.pass.makeSources(self.source)
        let list = try self.pass.makeList(self.locators, sources.registry, context)
        let output = TestOutput(isJSON: self.json, listsMembers: self.members || Verbosity.isVerbose)
        let tester = SourceTester(
            sources, output, context, limit: self.maxBytes?.value, progress: self.pass.progress,
            isFailFast: self.pass.failFast)
        try tester.test(list)
    }
}
#endif
