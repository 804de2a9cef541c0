import BlobCommandLine
import BlobStandardSources

/// The comparison of sources with lists of checksums.
struct ChecksumCheck {
    /// A line of a list, with the algorithm of its digest.
    private struct Entry {
        let argument: String
        let algorithm: CryptoDigest
        let digest: [UInt8]
    }

    private let algorithms: [CryptoDigest]
    private var entries: [Entry] = []
    private var failures: SourceFailures

    /// - Parameter algorithms: The algorithms that are accepted; when there are none, all are, and a line that names
    ///   none has the one whose digests have its length.
    init(_ algorithms: [CryptoDigest], isFailFast: Bool) {
        self.algorithms = algorithms.isEmpty ? CryptoDigest.all : algorithms
        self.failures = SourceFailures(isFailFast: isFailFast)
    }

    /// Adds the lines of a list; one that is no checksum is reported, and the others count.
    mutating func add(_ list: String, _ source: SourceOptions, _ context: BlobContext) throws {
        do {
            try source.forEachLine(of: list, context) { (line: [UInt8], number) in
                guard !line.isEmpty else { return }
                do throws(BlobError) {
                    self.entries.append(try self.entry(line))
                } catch {
                    try self.failures.note(error.inLine(number, of: list))
                }
            }
        } catch {
            try self.failures.note(error)
        }
    }

    private func entry(_ bytes: [UInt8]) throws(BlobError) -> Entry {
        guard let line = ChecksumLine(bytes) else {
            throw BlobError(.invalidArgument, "This is no checksum with a name.")
        }
        guard
            let algorithm = self.algorithms.first(where: {
                (line.algorithm ?? $0.name) == $0.name && $0.byteCount == line.digest.count
            })
        else {
            throw BlobError(
                .invalidArgument,
                "This is no digest of \(self.algorithms.map(\.name).joined(separator: ", ")): "
                    + "\(line.digest.count) bytes\(line.algorithm.map { " of \(printable($0))" } ?? "").")
        }
        return Entry(argument: RawArguments.decoded(line.name), algorithm: algorithm, digest: line.digest)
    }

    /// Reads all sources, each once and those in one archive in one pass, and prints a line for each digest.
    ///
    /// - Throws: The exit status of the first error, after all are reported; ``BlobError/Code/invalidArgument`` when the
    ///   lists have no line at all, which verifies nothing.
    mutating func run(_ sources: ArgumentSources, _ line: ProgressLine, _ context: BlobContext) throws {
        guard !self.entries.isEmpty else {
            try self.failures.end()
            throw BlobError(.invalidArgument, "The list has no checksums.")
        }
        var arguments: [String] = []
        // By bytes: strings are equal that differ in their Unicode form, and name two files.
        var positions: [[UInt8]: Int] = [:]
        for entry in self.entries where positions[Array(entry.argument.utf8)] == nil {
            positions[Array(entry.argument.utf8)] = arguments.count
            arguments.append(entry.argument)
        }
        let names = Set(self.entries.map(\.algorithm.name))
        let algorithms = CryptoDigest.all.filter { names.contains($0.name) }
        let hashing = Hashing(algorithms, itemCount: arguments.count, line, context)
        var members = SharedMembers(arguments, sources)
        var found: [Int: Result<[[UInt8]], BlobError>] = [:]
        for entry in self.entries {
            guard let position = positions[Array(entry.argument.utf8)] else { continue }
            let result = found[position] ?? members.result(position, context, hashing)
            found[position] = result
            line.clear()
            try self.compare(entry, result, algorithms)
        }
        try self.failures.end()
    }

    private mutating func compare(
        _ entry: Entry, _ result: Result<[[UInt8]], BlobError>, _ algorithms: [CryptoDigest]
    ) throws {
        let name = printableArgument(entry.argument)
        switch result {
        case .success(let digests):
            let digest = zip(algorithms, digests).first { $0.0.name == entry.algorithm.name }?.1
            guard digest != entry.digest else {
                if !Verbosity.isQuiet { try printLine("\(name): OK") }
                return
            }
            try printLine("\(name): FAILED")
            try self.failures.note(
                BlobError(
                    .checksumMismatch,
                    "The \(entry.algorithm.name) is \((digest ?? []).hexadecimal), and not \(entry.digest.hexadecimal).",
                    operation: "read", locator: entry.argument))
        case .failure(let error):
            guard error.code != .cancelled else { throw error }
            try printLine("\(name): FAILED open or read")
            try self.failures.note(error)
        }
    }
}
