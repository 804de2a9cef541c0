import ArgumentParser
import BlobStreamsStandard
import Foundation

struct CatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", abstract: "Prints the bytes of locators, one after the other.")

    /// The length in bytes up to which a list is read before its first locator is printed: 64 MiB.
    private static let maximumListByteCount: Int64 = 64 << 20

    @Argument(help: "The locators to print.")
    var locators: [String] = []

    @Option(help: "Start at this byte, from 0, of all locators together.")
    var offset: Int64 = 0

    @Option(help: "Print at most this many bytes.")
    var length: Int64?

    @Option(help: "Also print the locators in this file, one per line ('-': standard input).")
    var fromFile: String?

    @Option(help: "Print the ranges in this file, lines of 'OFFSET LENGTH', of one locator ('-': standard input).")
    var ranges: String?

    @Option(name: .shortAndLong, help: "Write to this file, which appears when it is complete.")
    var output: String?

    @Flag(
        help: """
            Read everything to its end, with all checks, before the first byte is printed; with --from-file, each \
            locator before its first byte.
            """)
    var verifyFirst = false

    @Option(help: "Fail if there are more bytes than this.")
    var maxBytes: Int64?

    @Option(help: "Show progress: auto, always, never.")
    var progress = ProgressMode.auto

    @Option(help: "Print at most this many bytes per second; k, M and G stand for powers of 1024.")
    var limitRate: ByteRate?

    @OptionGroup var reading: ReadingOptions

    func validate() throws {
        for (name, value) in [("offset", self.offset), ("length", self.length), ("max-bytes", self.maxBytes)] {
            guard value ?? 0 >= 0 else { throw ValidationError("--\(name) cannot be negative.") }
        }
        guard !self.locators.isEmpty || self.fromFile != nil else {
            throw ValidationError("Name at least one locator.")
        }
        guard self.ranges == nil || self.locators.count == 1 && self.fromFile == nil else {
            throw ValidationError("--ranges takes exactly one locator.")
        }
        guard self.ranges == nil || self.offset == 0 && self.length == nil else {
            throw ValidationError("--ranges goes without --offset and --length.")
        }
        guard self.fromFile == nil || self.offset == 0 && self.length == nil else {
            throw ValidationError("--from-file goes without --offset and --length.")
        }
    }

    func run() throws {
        let context = try self.reading.makeContext()
        guard let output = self.output else {
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
        var copier = Copier(output, limit: self.maxBytes, rate: self.limitRate, progress: self.progress, context)
        defer { copier.finish() }
        if let ranges = self.ranges { return try self.copyRanges(ranges, &copier, context) }
        let isPart = self.offset > 0 || self.length != nil
        var containers = SharedContainers(self.reading.registry, isOnePass: !self.verifyFirst && !isPart)
        var sources = try self.locators.map { locator in
            self.locators.count == 1
                ? try self.reading.source(locator, context) : try containers.source(locator, context)
        }
        if sources.count > 1, !isPart, !self.verifyFirst {
            try self.copyList(self.locators, &copier, &containers, context)
        } else {
            if sources.count > 1, isPart { sources = [ConcatenatedSource(sources)] }
            let validators = try sources.map { self.verifyFirst ? try self.verify($0, context) : nil }
            for (source, validator) in zip(sources, validators) {
                try copier.copy(source, at: self.offset, upTo: self.length, matching: validator)
            }
        }
        guard let fromFile = self.fromFile else { return try containers.finish(context) }
        // A list that is still being written is printed as it comes.
        let isComplete =
            try self.reading.source(fromFile, context).info(context).byteCount ?? .max <= Self.maximumListByteCount
        if isComplete, !self.verifyFirst {
            var lines: [String] = []
            try self.reading.source.forEachLine(of: fromFile, context) { if !$0.isEmpty { lines.append($0) } }
            try self.copyList(lines, &copier, &containers, context)
            return try containers.finish(context)
        }
        try self.reading.source.forEachLine(of: fromFile, context) { line in
            guard !line.isEmpty else { return }
            let source = try containers.source(line, context)
            let validator = self.verifyFirst ? try self.verify(source, context) : nil
            try copier.copy(source, matching: validator)
        }
        try containers.finish(context)
    }

    private func copyList(
        _ arguments: [String], _ copier: inout Copier<some ByteOutput>, _ containers: inout SharedContainers,
        _ context: BlobContext
    ) throws {
        var list = ListCopier(arguments, self.reading.registry, context)
        try list.copyAll(to: &copier, &containers)
    }

    private func copyRanges(
        _ ranges: String, _ copier: inout Copier<some ByteOutput>, _ context: BlobContext
    ) throws {
        let source = try self.reading.source(self.locators[0], context)
        let validator = self.verifyFirst ? try self.verify(source, context) : nil
        try self.reading.source.forEachLine(of: ranges, context) { line in
            let numbers = line.split(whereSeparator: \.isWhitespace).map { Int64($0) }
            guard !numbers.isEmpty else { return }
            guard numbers.count == 2, let offset = numbers[0], let length = numbers[1], offset >= 0, length >= 0 else {
                throw BlobError(.invalidArgument, "'\(line)' is no range: OFFSET LENGTH, two numbers from 0.")
            }
            try copier.copy(source, at: offset, upTo: length, isWhole: true, matching: validator)
        }
    }

    /// Reads to the end for the checks on the way, and returns the validator that the printed content must match.
    private func verify(_ source: any BlobInputStreamDataSource, _ context: BlobContext) throws -> BlobValidator {
        try self.reading.source.requireRepeatable(source, context, purpose: "so it cannot be verified first")
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
