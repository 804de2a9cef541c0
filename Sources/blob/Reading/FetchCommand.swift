#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Downloads files, and resumes after an interruption.",
        discussion: """
            After a crash or a kill, the same command resumes the download.

            The bytes are kept in FILE.blob-part until the file is complete and verified. After a crash or a kill, the \
            same command resumes the download if the content is the same according to its digest, its ETag, or its \
            date and the last 4 KiB. Lines of --from-file may begin with a digest, as 'sha256sum' and 'blob sum' print \
            them. A list named FILE.meta4 is a Metalink (RFC 5854), whose files have digests and several URLs.

            EXAMPLES:
              blob fetch https://example.com/disk.iso
              blob fetch -C downloads --from-file SHA256SUMS --allow-network-in-lists
            """)

    @Argument(help: "The sources to download.")
    var locators: [String] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file; requires exactly one locator.", valueName: "file"))
    var output: String?

    @Option(
        name: [.customShort("C"), .long],
        help: ArgumentHelp(
            "Write to this folder.",
            discussion: "Files get their names from locators or servers.", valueName: "path"))
    var directory = "."

    @Option(help: .advanced("Run at most this many downloads concurrently."))
    var jobs = 4

    @Option(
        help: .advanced(
            """
            Read each file over this many concurrent connections, from 1 to 16, if its server supports ranges and \
            strong ETags.
            """))
    var connections = 4

    @Option(
        help: ArgumentHelp(
            "Read at most this many bytes per second in total.", valueName: "rate"))
    var limitRate: ByteRate?

    @Flag(help: .advanced("Start from the beginning if the content has changed since the download began."))
    var restartIfChanged = false

    @OptionGroup(title: "Reading") var pass: PassOptions

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.locators.isEmpty || self.pass.fromFile != nil else {
            throw ValidationError("Missing expected argument '<locators> ...'")
        }
        guard self.output == nil || self.locators.count == 1 && self.pass.fromFile == nil else {
            throw ValidationError("-o requires exactly one locator.")
        }
        guard self.jobs > 0 else { throw ValidationError("--jobs must be at least 1.") }
        guard 1...16 ~= self.connections else { throw ValidationError("--connections must be a number from 1 to 16.") }
    }

    func run() throws {
        var pass = self.pass
        pass.resume = true
        let context = try pass.makeContext(self.source)
        let sources = pass.makeSources(self.source)
        var options = BlobDownloadOptions()
        options.restartsIfChanged = self.restartIfChanged
        options.connectionCount = self.connections
        let fetch = Fetch(
            try self.items(sources.registry, context), sources, options, context, to: self.output, in: self.directory,
            jobCount: self.jobs, rate: self.limitRate, pass)
        try fetch.run()
    }

    /// Returns the arguments, followed by the lines of the list and their digests.
    private func items(_ registry: BlobRegistry, _ context: BlobContext) throws -> [Fetch.Item] {
        var items = self.locators.map { Fetch.Item(arguments: [$0]) }
        guard let list = self.pass.fromFile else { return items }
        if list.lowercased().hasSuffix(".meta4") {
            let document = try registry.source(for: list, context: context)
                .data(upTo: MarkupElement.byteLimit, context: context)
            let files = try Metalink.files(in: Array(document), named: list)
            for url in files.flatMap(\.arguments) { try self.pass.listed.check(url, registry) }
            return items + files
        }
        let lines = try LineReader(list, registry, context)
        while let line = try lines.next() {
            guard !line.isEmpty else { continue }
            let checksum = ChecksumLine(line)
            let argument = RawArguments.decoded(checksum?.name ?? line)
            try self.pass.listed.check(argument, registry, line: lines.number, of: list)
            let digests = checksum.map { checksum in
                let names = CryptoDigest.all.filter { $0.name == checksum.algorithm ?? $0.name }
                    .filter { $0.byteCount == checksum.digest.count }
                return names.prefix(1).map { BlobStatedDigest($0.name, checksum.digest, origin: list) }
            }
            guard digests?.isEmpty != true else {
                throw BlobError(.unsupported, "The digest is not of a known algorithm.").inLine(lines.number, of: list)
            }
            items.append(Fetch.Item(arguments: [argument], digests: digests ?? []))
        }
        return items
    }
}

/// Performs the downloads of one command.
final class Fetch: Sendable {
    /// A file to download.
    struct Item: Sendable {
        /// The locations of the file, the preferred one first.
        let arguments: [String]
        var name: String?
        var byteCount: Int64?
        var digests: [BlobStatedDigest] = []
    }

    private struct State {
        /// The positions of the items, keyed by path.
        var paths: [String: Int] = [:]
    }

    private let options: BlobDownloadOptions
    private let (output, directory, jobCount): (String?, String, Int)
    private let sources: ArgumentSources
    private let items: [Item]
    private let context: BlobContext
    private let allowance: ByteAllowance?
    private let progress: ProgressSum<Int>
    private let failures: Locked<SourceFailures>
    private let state = Locked(State())

    init(
        _ items: [Item], _ sources: ArgumentSources, _ options: BlobDownloadOptions, _ context: BlobContext,
        to output: String?, in directory: String = ".", jobCount: Int = 1, rate: ByteRate?, _ pass: PassOptions
    ) {
        (self.options, self.sources, self.items, self.context) = (options, sources, items, context)
        (self.output, self.directory, self.jobCount) = (output, directory, jobCount)
        self.allowance = rate.map { ByteAllowance(bytesPerSecond: $0.bytesPerSecond) }
        self.progress = ProgressSum(ProgressLine(pass.progress), of: items.count)
        for (number, item) in items.enumerated() { self.progress.expect(item.byteCount, of: number) }
        self.failures = Locked(SourceFailures(isFailFast: pass.failFast || items.count == 1))
    }

    func run() throws {
        defer { self.progress.line.clear() }
        _ = try waiting { [self] () throws(BlobError) in
            try await concurrently(self.items.count, atOnce: self.jobCount) { (number) async throws(BlobError) in
                do throws(BlobError) {
                    try await BlockingPool.reads.value { () throws(BlobError) in try self.fetch(number) }
                } catch {
                    self.progress.line.clear()
                    try self.failures.withLock { failures throws(BlobError) in try failures.record(error) }
                }
            }
        }
        try self.failures.withLock { try $0.end() }
    }

    /// Downloads a file from the first location that provides it.
    private func fetch(_ number: Int) throws(BlobError) {
        let item = self.items[number]
        defer { self.progress.finish(number) }
        for (place, argument) in item.arguments.enumerated() {
            do throws(BlobError) {
                try self.fetch(item, from: argument, number)
                break
            } catch  where error.code != .cancelled && place < item.arguments.count - 1 {
                ProgressLine.printNotice("blob: \(ErrorText(error).line)\n")
            }
        }
    }

    private func fetch(_ item: Item, from argument: String, _ number: Int) throws(BlobError) {
        var source = try self.sources.source(argument, self.context)
        let path = if let output { output } else { try self.path(source, item.name) }
        let owner = self.state.withLock { state in
            defer { state.paths[path] = state.paths[path] ?? number }
            return state.paths[path] ?? number
        }
        guard owner == number else {
            throw BlobError(
                .invalidArgument, "Two locators would be downloaded to the same file \(printableArgument(path)).",
                locator: source.locator?.description)
        }
        if let byteCount = item.byteCount, let found = try source.info(self.context).byteCount, found != byteCount {
            throw BlobError(
                .sizeMismatch, "The file has \(found) bytes, but the list says \(byteCount).",
                locator: source.locator?.description)
        }
        if let allowance { source = ThrottledSource(source, sharing: allowance) }
        var options = self.options
        options.digests = item.digests
        let isFirst = Locked(true)
        options.onProgress = { known, total in
            if isFirst.exchange(false), known > 0 {
                ProgressLine.printNotice(
                    "blob: \(printableArgument(path)): resuming after \(known) bytes\n")
            }
            self.progress.show(number, known, of: total ?? item.byteCount)
        }
        try source.write(to: URL(fileURLWithPath: path), resuming: options, context: self.context)
    }

    /// Returns the path in the folder, with the item's listed name or otherwise the name that the source provides.
    private func path(_ source: any BlobInputStreamDataSource, _ listed: String?) throws(BlobError) -> String {
        let name = if let listed { listed } else { try source.info(self.context).name }
        guard let name, !name.isEmpty, !name.contains("/"), name != ".",
            name != ".."
        else {
            throw BlobError(
                .invalidArgument, "The source has no valid file name: use -o.", locator: source.locator?.description)
        }
        return self.directory == "." ? name : "\(self.directory)/\(name)"
    }
}
#endif
