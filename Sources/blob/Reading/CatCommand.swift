#if Command
import ArgumentParser
import BlobStreamsStandard
import BlobTransfer

struct CatCommand: NameListCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", abstract: "Prints the bytes of files, URLs and archive members.",
        discussion: """
            Sources are printed one after the other. If one cannot be read at all, the error is reported, and the others are \
            printed; an error after the first byte of a source ends the command.

            EXAMPLES:
              blob cat 'backup.tgz#etc/hosts'
              blob cat -z https://example.com/log.gz --offset -1M
            """)

    @Argument(help: "The sources (default: '-', standard input).")
    var locators: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start at this byte; -N prints the last N bytes.",
            discussion: """
                Offsets count from 0, over all locators together; -N requires a source of known length. In all \
                sizes, k, M, G and T stand for powers of 1024, and kB, MB, GB and TB for powers of 1000.
                """, valueName: "bytes"))
    var offset: ByteOffset?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Print at most this many bytes.", valueName: "bytes"))
    var length: ByteCount?

    @Option(
        help: .advanced(
            "Print complete records that begin in the range of --offset and --length; see 'blob job splits'.",
            valueName: "lines"))
    var records: RecordKind?

    @Option(
        help: .advanced(
            "Print only the ranges that this file lists, one 'OFFSET LENGTH' per line ('-': standard input)."))
    var ranges: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file, which appears only when complete.",
            discussion: "'-' is standard output.", valueName: "file"))
    var output: String?

    @Flag(
        help: .advanced(
            """
            Read and verify everything before printing the first byte; with --from-file, verify each locator before \
            printing its first byte.
            """))
    var verifyFirst = false

    @Option(help: .advanced("Fail if there are more than this many bytes."))
    var maxBytes: ByteCount?

    @Option(help: .advanced("Print at most this many bytes per second."))
    var limitRate: ByteRate?

    @OptionGroup(title: "Reading") var pass: PassOptions

    @OptionGroup var source: SourceOptions

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: .advanced("Write each source to a file of its name in the current folder, as 'blob fetch' does."))
    var remoteName = false

    func validate() throws {
        guard self.ranges == nil || self.locators.count == 1 && self.pass.fromFile == nil else {
            throw ValidationError("--ranges requires exactly one locator.")
        }
        guard self.ranges == nil || self.offset == nil && self.length == nil else {
            throw ValidationError("--ranges cannot be used with --offset or --length.")
        }
        guard self.records == nil || self.locators.count == 1 && self.pass.fromFile == nil && self.ranges == nil else {
            throw ValidationError("--records requires exactly one locator.")
        }
        guard self.pass.fromFile == nil || self.offset == nil && self.length == nil else {
            throw ValidationError("--from-file cannot be used with --offset or --length.")
        }
        let isPart = self.offset != nil || self.length != nil || self.records != nil || self.ranges != nil
        let isChecked = self.maxBytes != nil || self.verifyFirst
        guard
            self.resumedOutput == nil || self.locators.count == 1 && self.pass.fromFile == nil && !isPart && !isChecked
        else {
            throw ValidationError(
                "--resume with --output requires one whole locator, without --max-bytes and --verify-first.")
        }
        guard !self.remoteName || self.output == nil && self.pass.fromFile == nil && !isPart && !isChecked else {
            throw ValidationError(
                "-O requires whole locators, without -o, --from-file, --max-bytes and --verify-first.")
        }
    }

    /// The output file to resume as `blob fetch` does; nil if no file is resumed.
    private var resumedOutput: String? { self.pass.resume && self.output != "-" ? self.output : nil }

    func run() throws {
        let context = try self.pass.makeContext(self.source)
        if self.remoteName || self.resumedOutput != nil {
            let items = self.locators.map { Fetch.Item(arguments: [$0]) }
            let sources = self.pass.makeSources(self.source)
            return try Fetch(
                items, sources, BlobDownloadOptions(), context, to: self.resumedOutput, rate: self.limitRate, self.pass
            ).run()
        }
        try withOutput(to: self.output) { output in try Cat(self, output, context).copyAll() }
    }
}

/// Copies the sources of one `cat` command.
private struct Cat {
    /// The maximum length, in bytes, of a list that is read completely before its first locator is printed: 64 MiB.
    private static let maximumListByteCount: Int64 = 64 << 20
    /// The maximum number of ranges announced to a source before they are read.
    private static let rangesAheadCount = 1024

    private let options: CatCommand
    private let context: BlobContext
    private let sources: ArgumentSources
    private let list: ArgumentList
    /// True if a pattern selects members of an archive that can be read only once.
    private let hasPipedPattern: Bool
    private let copier: Copier
    private let containers: SharedContainers
    private let failures: SourceFailures
    private let (offset, length): (Int64, Int64?)

    init(_ options: CatCommand, _ output: any ByteOutput, _ context: BlobContext) throws {
        (self.options, self.context) = (options, context)
        var sources = options.pass.makeSources(options.source)
        var list = ArgumentList(options.pass.names(options.locators))
        try list.expand(sources.registry, context)
        self.list = list
        self.hasPipedPattern = list.texts.contains { sources.registry.pipedSelection($0, context) != nil }
        let hasKnownCount = options.pass.fromFile == nil && options.ranges == nil && !self.hasPipedPattern
        (self.offset, self.length) = (options.offset?.value ?? 0, options.length?.value)
        let line = ProgressLine(options.pass.progress, writesData: output is StandardOutput)
        let isPart = self.offset != 0 || self.length != nil || options.records != nil
        let progress =
            isPart
            ? ProgressSum(line, of: 1) : sources.progress(line, of: hasKnownCount ? list.texts : nil)
        self.copier = Copier(
            output, limit: options.maxBytes?.value, rate: options.limitRate, progress: progress, context)
        self.sources = sources
        self.containers = SharedContainers(
            sources, isOnePass: !options.verifyFirst && self.offset == 0 && self.length == nil, context)
        // A file that appears only once it is complete must not appear if a source is missing.
        self.failures = SourceFailures(isFailFast: options.pass.failFast || output is AtomicFile)
    }

    func copyAll() throws {
        defer { self.copier.finish() }
        if self.options.records != nil { return try self.copyRecords() }
        if let ranges = self.options.ranges { return try self.copyRanges(ranges) }
        do {
            try self.copyArguments()
            if let fromFile = self.options.pass.fromFile { try self.copyLines(of: fromFile) }
            try self.containers.finish()
        } catch {
            self.copier.finish()
            try self.failures.end(with: error)
        }
        try self.failures.end()
    }

    private func copyArguments() throws {
        let arguments = self.list.texts
        let isPart = self.offset != 0 || self.length != nil
        let isList = arguments.count > 1 || self.options.pass.fromFile != nil || self.hasPipedPattern
        guard !isList || isPart || self.options.verifyFirst else { return try self.copy(self.list) }
        var sources = try arguments.map { locator in
            arguments.count == 1
                ? try self.sources.source(locator, self.context) : try self.containers.source(locator)
        }
        if sources.count > 1, isPart { sources = [ConcatenatedSource(sources)] }
        let validators = try sources.map(self.validator)
        for (source, validator) in zip(sources, validators) {
            let start = try ByteOffset.start(self.offset, in: source, self.context)
            try self.copier.copy(source, at: start, upTo: self.length, matching: validator)
            if isPart { try Verbosity.reportPartialRead(of: source, self.context) }
        }
    }

    private func copy(_ list: ArgumentList) throws {
        var list = ListCopier(list, self.containers, self.copier, self.failures, self.context)
        try list.copyAll()
    }

    private func copyLines(of list: String) throws {
        let registry = self.sources.registry
        if !self.options.verifyFirst, try self.isComplete(list) {
            var lines = ArgumentList([])
            try lines.add(list, self.options.pass.listed, registry, self.context)
            try lines.expand(registry, self.context)
            return try self.copy(lines)
        }
        let lines = try LineReader(list, registry, self.context)
        while let line = try lines.next().map(RawArguments.decoded) {
            guard !line.isEmpty else { continue }
            let byteCount = self.copier.writtenByteCount
            do {
                try self.options.pass.listed.check(line, registry)
                for argument in try registry.expanding([line], self.context) {
                    let source = try self.containers.source(argument)
                    try self.copier.copy(source, matching: self.validator(of: source))
                }
            } catch {
                let error = BlobError(wrapping: error).inLine(lines.number, of: list)
                guard self.copier.writtenByteCount == byteCount else { throw error }
                try self.failures.record(error)
            }
        }
    }

    private func copyRecords() throws {
        let source = try self.sources.source(self.options.locators[0], self.context)
        let start = try ByteOffset.start(self.offset, in: source, self.context)
        let (end, overflows) = start.addingReportingOverflow(self.length ?? .max)
        let lines = LineRangeSource(source, beginningIn: start..<(overflows ? .max : end))
        try self.copier.copy(lines, matching: self.validator(of: lines))
    }

    private func copyRanges(_ list: String) throws {
        let source = try self.sources.source(self.options.locators[0], self.context)
        let validator = try self.validator(of: source)
        let lines = try LineReader(list, self.sources.registry, self.context)
        func next() throws -> Range<Int64>? {
            while let line = try lines.next().map(RawArguments.decoded) {
                let numbers = line.split(whereSeparator: \.isWhitespace).map { Int64($0) }
                guard !numbers.isEmpty else { continue }
                guard numbers.count == 2, let offset = numbers[0], let length = numbers[1], offset >= 0, length >= 0
                else {
                    throw BlobError(
                        .invalidArgument, "Invalid range '\(line)': expected OFFSET LENGTH, two numbers from 0."
                    ).inLine(lines.number, of: list)
                }
                let (end, overflows) = offset.addingReportingOverflow(length)
                return offset..<(overflows ? .max : end)
            }
            return nil
        }
        // If the list is complete, its next ranges are announced to the source.
        let aheadCount = try self.isComplete(list) ? Self.rangesAheadCount : 0
        var (ahead, failure): (Fifo<Range<Int64>>, (any Error)?) = (Fifo(), nil)
        while true {
            if ahead.count <= aheadCount / 2, failure == nil {
                var more: [Range<Int64>] = []
                do {
                    while ahead.count + more.count <= aheadCount, let range = try next() { more.append(range) }
                } catch {
                    failure = error  // Reported when the line's turn comes.
                }
                if aheadCount > 0 { source.prepare(more, self.context) }
                for range in more { ahead.append(range) }
            }
            guard let range = ahead.popFirst() else { break }
            try self.copier.copy(
                source, at: range.lowerBound, upTo: Int64(range.count), isWhole: true, matching: validator)
        }
        if let failure { throw failure }
        try Verbosity.reportPartialRead(of: source, self.context)
    }

    /// Returns true for a list that can be read as a whole; a list that is still being written is read as it arrives.
    private func isComplete(_ list: String) throws -> Bool {
        let info = try self.sources.registry.source(for: list, context: self.context).info(self.context)
        return info.byteCount ?? .max <= Self.maximumListByteCount
    }

    /// Returns the validator that the printed content must match.
    ///
    /// Reads the source to its end, which performs all checks on the way. Returns nil without `--verify-first`.
    private func validator(of source: any BlobInputStreamDataSource) throws -> BlobValidator? {
        guard self.options.verifyFirst else { return nil }
        // The source's own error comes first; a folder, for example, has a more important problem than not being
        // repeatable.
        _ = try source.info(self.context)
        guard source.traits.contains(.repeatable) else {
            throw BlobError(
                .unsupported, "The source can be read only once, so it cannot be verified first.",
                locator: source.locator?.description)
        }
        let info = try Copier(DiscardingOutput(), limit: nil, self.context).copy(source)
        guard let validator = info.validator else {
            throw BlobError(
                .unsupported, "The source has no validator, so a change after the verification could not be detected.",
                operation: "open", locator: source.locator?.description)
        }
        return validator
    }
}
#endif
