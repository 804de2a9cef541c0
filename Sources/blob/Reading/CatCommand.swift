import ArgumentParser
import BlobPlatform
import BlobStreamsStandard

struct CatCommand: NameListCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", abstract: "Prints the bytes of locators, one after the other.",
        discussion: """
            A locator of which no byte can be read is reported, and the others are printed; an error after the first byte \
            of a locator is the end.
            """)

    /// The length in bytes up to which a list is read before its first locator is printed: 64 MiB.
    private static let maximumListByteCount: Int64 = 64 << 20

    @Argument(help: "The locators to print (default: '-', standard input).")
    var locators: [String] = []

    @Option(
        parsing: .unconditional,
        help: """
            Start at this byte, from 0, of all locators together; -N is the last N bytes, of a known length. As in all sizes, k, M, G and T stand for powers of \
            1024, and kB, MB, GB and TB for powers of 1000.
            """)
    var offset: ByteOffset?

    @Option(help: "Print at most this many bytes.")
    var length: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Print the records that begin in the range of --offset and --length, each to its end ('blob index splits').",
            valueName: "lines"))
    var records: Records?

    @Option(help: "Print the ranges in this file, lines of 'OFFSET LENGTH', of one locator ('-': standard input).")
    var ranges: String?

    @Option(name: .shortAndLong, help: "Write to this file, which appears when it is complete ('-': standard output).")
    var output: String?

    @Flag(
        help: """
            Read everything to its end, with all checks, before the first byte is printed; with --from-file, each \
            locator before its first byte.
            """)
    var verifyFirst = false

    @Option(help: "Fail if there are more bytes than this.")
    var maxBytes: ByteCount?

    @Option(help: "Print at most this many bytes per second.")
    var limitRate: ByteRate?

    @OptionGroup var listed: ListedLocatorOptions

    @OptionGroup var pass: PassOptions

    @OptionGroup var source: SourceOptions

    private var reading: ReadingOptions { ReadingOptions(self.source, self.pass) }

    func validate() throws {
        guard self.ranges == nil || self.locators.count == 1 && self.pass.fromFile == nil else {
            throw ValidationError("--ranges takes exactly one locator.")
        }
        guard self.ranges == nil || self.offset == nil && self.length == nil else {
            throw ValidationError("--ranges goes without --offset and --length.")
        }
        guard self.records == nil || self.locators.count == 1 && self.pass.fromFile == nil && self.ranges == nil else {
            throw ValidationError("--records takes exactly one locator.")
        }
        guard self.pass.fromFile == nil || self.offset == nil && self.length == nil else {
            throw ValidationError("--from-file goes without --offset and --length.")
        }
    }

    func run() throws {
        let context = try self.reading.makeContext()
        guard let output = self.output, output != "-" else {
            return try self.copyAll(to: StandardOutput(), context)
        }
        let file = try AtomicFile(path: output)
        Interrupts.setTemporaryPath(file.temporaryPath)
        try self.copyAll(to: file, context)
        try file.commit()
        // Only now, because synchronising may take longer than an interrupt waits.
        Interrupts.setTemporaryPath(nil)
    }

    private func copyAll(to output: some ByteOutput, _ context: BlobContext) throws {
        let sources = self.reading.makeSources()
        let named = self.locators.isEmpty && self.pass.fromFile == nil ? ["-"] : self.locators
        var list = ArgumentList(named)
        try list.expand(sources.registry, context)
        let arguments = list.texts
        let hasKnownCount =
            self.pass.fromFile == nil && self.ranges == nil
            && !self.hasPipedPattern(arguments, sources, context)
        var copier = Copier(
            output, limit: self.maxBytes?.value, rate: self.limitRate, progress: self.pass.progress,
            itemCount: hasKnownCount ? arguments.count : nil, context)
        defer { copier.finish() }
        if self.records != nil { return try self.copyRecords(sources, &copier, context) }
        if let ranges = self.ranges { return try self.copyRanges(ranges, sources, &copier, context) }
        let (offset, length) = (self.offset?.value ?? 0, self.length?.value)
        let isPart = offset != 0 || length != nil
        var containers = SharedContainers(sources, isOnePass: !self.verifyFirst && !isPart)
        // A file that appears when it is complete does not appear without one of the sources.
        var failures = SourceFailures(isFailFast: self.pass.failFast || output is AtomicFile)
        do {
            try self.copy(list, from: offset, upTo: length, &copier, &containers, &failures, context)
            if let fromFile = self.pass.fromFile {
                try self.copyLines(of: fromFile, &copier, &containers, &failures, context)
            }
            try containers.finish(context)
        } catch {
            copier.finish()
            try failures.end(with: error)
        }
        try failures.end()
    }

    private func copy(
        _ list: ArgumentList, from offset: Int64, upTo length: Int64?, _ copier: inout Copier<some ByteOutput>,
        _ containers: inout SharedContainers, _ failures: inout SourceFailures, _ context: BlobContext
    ) throws {
        let arguments = list.texts
        let isPart = offset != 0 || length != nil
        let isList =
            arguments.count > 1 || self.pass.fromFile != nil
            || self.hasPipedPattern(arguments, containers.sources, context)
        if isList, !isPart, !self.verifyFirst {
            try self.copyList(list, &copier, &containers, &failures, context)
        } else {
            var sources = try arguments.map { locator in
                arguments.count == 1
                    ? try containers.sources.source(locator, context) : try containers.source(locator, context)
            }
            if sources.count > 1, isPart { sources = [ConcatenatedSource(sources)] }
            let validators = try sources.map { self.verifyFirst ? try self.verify($0, context) : nil }
            for (source, validator) in zip(sources, validators) {
                let start = try ByteOffset.start(offset, in: source, context)
                try copier.copy(source, at: start, upTo: length, matching: validator)
            }
        }
    }

    private func hasPipedPattern(_ arguments: [String], _ sources: ArgumentSources, _ context: BlobContext) -> Bool {
        arguments.contains { sources.registry.pipedSelection($0, context) != nil }
    }

    private func copyLines(
        of list: String, _ copier: inout Copier<some ByteOutput>, _ containers: inout SharedContainers,
        _ failures: inout SourceFailures, _ context: BlobContext
    ) throws {
        // A list that is still being written is printed as it comes.
        let info = try containers.sources.registry.source(for: list, context: context).info(context)
        if info.byteCount ?? .max <= Self.maximumListByteCount, !self.verifyFirst {
            var lines = ArgumentList([])
            try lines.add(list, self.source, self.listed, containers.sources.registry, context)
            try lines.expand(containers.sources.registry, context)
            return try self.copyList(lines, &copier, &containers, &failures, context)
        }
        try self.source.forEachLine(of: list, context) { (line: String, number) in
            guard !line.isEmpty else { return }
            let byteCount = copier.written
            do {
                try self.listed.check(line, containers.sources.registry)
                for argument in try containers.sources.registry.expanding([line], context) {
                    let source = try containers.source(argument, context)
                    let validator = self.verifyFirst ? try self.verify(source, context) : nil
                    try copier.copy(source, matching: validator)
                }
            } catch {
                let error = BlobError(wrapping: error).inLine(number, of: list)
                guard copier.written == byteCount else { throw error }
                try failures.note(error)
            }
        }
    }

    private func copyList(
        _ arguments: ArgumentList, _ copier: inout Copier<some ByteOutput>, _ containers: inout SharedContainers,
        _ failures: inout SourceFailures, _ context: BlobContext
    ) throws {
        var list = ListCopier(arguments, containers.sources, context)
        try list.copyAll(to: &copier, &containers, &failures)
    }

    private func copyRecords(
        _ sources: ArgumentSources, _ copier: inout Copier<some ByteOutput>, _ context: BlobContext
    ) throws {
        let source = try sources.source(self.locators[0], context)
        let start = try ByteOffset.start(self.offset?.value ?? 0, in: source, context)
        let (end, overflows) = start.addingReportingOverflow(self.length?.value ?? .max)
        let lines = LineRangeSource(source, beginningIn: start..<(overflows ? .max : end))
        try copier.copy(lines, matching: self.verifyFirst ? self.verify(lines, context) : nil)
    }

    private func copyRanges(
        _ ranges: String, _ sources: ArgumentSources, _ copier: inout Copier<some ByteOutput>,
        _ context: BlobContext
    ) throws {
        let source = try sources.source(self.locators[0], context)
        let validator = self.verifyFirst ? try self.verify(source, context) : nil
        try self.source.forEachLine(of: ranges, context) { (line: String, number) in
            let numbers = line.split(whereSeparator: \.isWhitespace).map { Int64($0) }
            guard !numbers.isEmpty else { return }
            guard numbers.count == 2, let offset = numbers[0], let length = numbers[1], offset >= 0, length >= 0 else {
                throw BlobError(.invalidArgument, "'\(line)' is no range: OFFSET LENGTH, two numbers from 0.")
                    .inLine(number, of: ranges)
            }
            try copier.copy(source, at: offset, upTo: length, isWhole: true, matching: validator)
        }
    }

    /// Reads to the end for the checks on the way, and returns the validator that the printed content must match.
    private func verify(_ source: any BlobInputStreamDataSource, _ context: BlobContext) throws -> BlobValidator {
        try self.source.requireRepeatable(source, context, purpose: "so it cannot be verified first")
        let reader = try source.open(context: context)
        defer { reader.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Copying.bufferByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        while try reader.readWaiting(into: buffer) > 0 {}
        guard let validator = reader.info.validator else {
            throw BlobError(
                .unsupported, "Nothing tells whether this source changes after it was verified.", operation: "open",
                locator: source.locator?.description)
        }
        return validator
    }
}
