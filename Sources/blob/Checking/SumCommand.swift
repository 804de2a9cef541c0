#if Command
import ArgumentParser
import BlobCommandLine
import BlobStreamsStandard

struct SumCommand: NameListCommand {
    static let configuration = CommandConfiguration(
        commandName: "sum", abstract: "Prints or verifies digests, like sha256sum.",
        discussion: """
            With several algorithms, each source is read once, and lines have the form 'SHA256 (NAME) = HEX'. \
            'x.tgz#**' prints a line for each member. Names are printed unchanged, except that in a line with a \
            leading '\\', the name contains '\\n', '\\r' and '\\\\' for those characters. With -c, a line that is not \
            a checksum causes a warning, and a list without checksums is an error.

            EXAMPLES:
              blob sum 'backup.tgz#**' > SHA256SUMS
              blob sum --check SHA256SUMS
            """)

    @Argument(
        help: ArgumentHelp(
            "The sources (default: '-'); with -c, lists of checksums.",
            discussion: "'-' is standard input."))
    var locators: [String] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Use these algorithms, separated by commas.",
            discussion: "The default is sha256. Known: \(DigestNames.allValueStrings.joined(separator: ", ")).",
            valueName: "names"))
    var algorithm: [DigestNames] = []

    @Flag(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Verify checksum lists, as sha256sum -c does.",
            discussion: """
                Lists may come from this command, sha256sum or similar tools. With --quiet, only failures are \
                printed.
                """))
    var check = false

    @Flag(help: .advanced("Print lines as 'SHA256 (NAME) = HEX', even for a single algorithm."))
    var tag = false

    @Flag(help: .advanced("Use lines that end with a NUL, in lists as well, and print names without escapes."))
    var zero = false

    @Flag(help: .advanced("With -c: do not print results, only set the exit status."))
    var status = false

    @Flag(help: .advanced("With -c: ignore missing files, but fail if all files of a list are missing."))
    var ignoreMissing = false

    @Flag(help: .advanced("With -c: fail if any line is not a checksum."))
    var strict = false

    @OptionGroup(title: "Reading") var pass: PassOptions

    @OptionGroup var source: SourceOptions

    @Flag(help: .advanced("Print one JSON object per source, with its digests; not with -c."))
    var json = false

    func validate() throws {
        guard !self.json || !self.check && !self.tag && !self.zero else {
            throw ValidationError("--json cannot be used with -c, --tag or --zero.")
        }
        guard !self.check || !self.tag && self.pass.fromFile == nil else {
            throw ValidationError("-c cannot be used with --tag or --from-file.")
        }
        guard self.check || !self.status && !self.ignoreMissing && !self.strict else {
            throw ValidationError("--status, --ignore-missing and --strict require -c.")
        }
    }

    func run() throws {
        Verbosity.isJSON = self.json
        let context = try self.pass.makeContext(self.source)
        var sources = self.pass.makeSources(self.source)
        let registry = sources.registry
        let chosen = self.algorithm.flatMap(\.algorithms)
        guard !self.check else {
            var check = ChecksumCheck(chosen, self)
            for name in self.pass.names(self.locators) { try check.add(name, registry, context) }
            return try check.run(sources, context)
        }
        let algorithms = chosen.isEmpty ? [.sha256] : chosen
        var arguments = try self.pass.makeList(self.locators, isZero: self.zero, registry, context)
        try arguments.expand(registry, context)
        let hasPipedPattern = arguments.texts.contains { registry.pipedSelection($0, context) != nil }
        let hashing = Hashing(
            algorithms,
            progress: sources.progress(ProgressLine(self.pass.progress), of: hasPipedPattern ? nil : arguments.texts),
            context)
        defer { hashing.clear() }
        var members = SharedMembers(arguments.texts, sources, hashing)
        let failures = SourceFailures(isFailFast: self.pass.failFast)
        for (position, argument) in arguments.texts.enumerated() {
            do {
                if let selection = registry.pipedSelection(argument, context) {
                    try self.printSums(of: selection, sources, hashing, algorithms, context)
                    continue
                }
                let result = members.result(position, context)
                hashing.clear()
                for text in try self.lines(algorithms, result.get(), argument) {
                    try printLine(text, isZero: self.zero)
                }
            } catch {
                try failures.record(arguments.naming(error, position))
            }
        }
        try failures.end()
    }

    /// Prints the digests of members after the whole archive has passed its checks.
    private func printSums(
        of selection: BlobRegistry.MemberSelection, _ sources: ArgumentSources, _ hashing: Hashing,
        _ algorithms: [CryptoDigest], _ context: BlobContext
    ) throws {
        var texts: [[UInt8]] = []
        try sources.registry.forEachMember(of: selection, context) { name, source in
            let source = try sources.decoded(source, context)
            texts += try self.lines(algorithms, hashing.digests(of: source), name)
        }
        hashing.clear()
        for text in texts { try printLine(text, isZero: self.zero) }
    }

    private func lines(_ algorithms: [CryptoDigest], _ digests: [[UInt8]], _ argument: String) throws -> [[UInt8]] {
        guard !self.json else {
            let digests = JSONObject(zip(algorithms, digests).map { ($0.name, $1.hexadecimal) })
            let object: JSONObject = ["digests": digests, "locator": printableArgument(argument)]
            return [Array(try jsonLine(object).utf8)]
        }
        let isTagged = self.tag || algorithms.count > 1
        return zip(algorithms, digests).map { algorithm, digest in
            ChecksumLine.encode(
                digest.hexadecimal, of: listedName(argument), algorithm: isTagged ? algorithm.name : nil,
                mayEscape: !self.zero)
        }
    }
}
#endif
