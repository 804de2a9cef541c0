#if Command
import ArgumentParser
import BlobCommandLine
import BlobStreamsStandard

struct TestCommand: NameListCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Tests files and archives by reading everything.",
        discussion: """
            Verifies every checksum on the way, and prints OK or FAILED for each locator.

            Decodes the filters that the content or the name indicates, such as gzip and xz, and reads all members of \
            the archive inside to their ends, verifying every checksum. For each locator, prints a line with OK and \
            the checksums that covered it, or with FAILED; each member that fails has its own line. Errors, with their \
            byte offsets, go to standard error. After an error, the other members and locators are still tested; the \
            exit status is the status of the first error. 'no checksum' means that damage would not be detected, which \
            is not an error: for a plain file, a tar without a filter, or xz and zstd data written without a check.

            An archive within an archive is read as bytes, unless a locator names it: 'outer.zip#inner.tgz'. With -z, \
            members that are compressed, for example with gzip, are also decoded. Indexes are neither used nor created.

            EXAMPLES:
              blob test backup.tgz photos.zip
              blob test --members https://example.com/site.tar.xz
            """)

    @Argument(
        help: ArgumentHelp(
            "The sources (default: '-', standard input).",
            discussion: "'x.zip#dir/*' tests the matching members."))
    var locators: [String] = []

    @Flag(
        help: ArgumentHelp(
            "Print a line for each member, with its checksums.",
            discussion: "Implied by -v."))
    var members = false

    @Flag(help: "Print one JSON object per member and per locator.")
    var json = false

    @Option(help: .advanced("Stop after this many decoded bytes in all locators together."))
    var maxBytes: ByteCount?

    @OptionGroup(title: "Reading") var pass: PassOptions

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard [.automatic, .none].contains(self.source.archives.index) else {
            throw ValidationError("'blob test' cannot be used with --index: it always reads everything.")
        }
    }

    func run() throws {
        Verbosity.isJSON = self.json
        var context = try self.pass.makeContext(self.source)
        context.index = .none
        var sources = self.pass.makeSources(self.source)
        let list = try self.pass.makeList(self.locators, sources.registry, context)
        let output = TestOutput(isJSON: self.json, listsMembers: self.members || Verbosity.isVerbose)
        let progress = sources.progress(ProgressLine(self.pass.progress), of: list.texts, readsAll: true)
        let tester = SourceTester(
            sources, output, context, limit: self.maxBytes?.value, progress: progress,
            isFailFast: self.pass.failFast)
        try tester.test(list)
    }
}
#endif
