#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

/// Compares sources with lists of checksums.
struct ChecksumCheck {
    /// The exit status after a mismatch, as of sha256sum(1): the only exception from the statuses of errors.
    private static let mismatchStatus: Int32 = 1

    private let algorithms: [CryptoDigest]
    private let options: SumCommand
    private var lists: [ChecksumList] = []
    private let failures: SourceFailures
    private var (mismatchCount, unreadableCount) = (0, 0)

    /// - Parameter algorithms: The accepted algorithms; an empty array accepts all algorithms.
    init(_ algorithms: [CryptoDigest], _ options: SumCommand) {
        self.algorithms = algorithms.isEmpty ? CryptoDigest.all : algorithms
        self.options = options
        self.failures = SourceFailures(isFailFast: options.pass.failFast)
    }

    /// Adds the entries of a list.
    ///
    /// Reports an error for a list that cannot be read or contains no checksum, so that the remaining lists are still
    /// checked.
    mutating func add(_ name: String, _ registry: BlobRegistry, _ context: BlobContext) throws {
        do {
            let list = try ChecksumList(name, self.algorithms, self.options, registry, context)
            self.lists.append(list)
            for fault in list.faults {
                if self.options.strict {
                    try self.failures.record(fault)
                } else if !self.options.status {
                    ProgressLine.printNotice("blob: warning: \(fault.message)\n")
                }
            }
        } catch {
            try self.failures.record(error)
        }
    }

    /// Reads each source once, and the members of an archive in one pass; prints a line for each digest.
    ///
    /// - Throws: The exit status of the first error, after all errors are reported; or an error that ends the command.
    mutating func run(_ sources: ArgumentSources, _ context: BlobContext) throws {
        let entries = self.lists.flatMap(\.entries)
        var arguments: [String] = []
        // Compared as bytes, because strings that differ only in their Unicode form are equal but name two files.
        var positions: [[UInt8]: Int] = [:]
        for entry in entries where positions[Array(entry.argument.utf8)] == nil {
            positions[Array(entry.argument.utf8)] = arguments.count
            arguments.append(entry.argument)
        }
        let names = Set(entries.map(\.algorithm.name))
        let algorithms = CryptoDigest.all.filter { names.contains($0.name) }
        var sources = sources
        let progress = sources.progress(ProgressLine(self.options.pass.progress), of: arguments)
        let hashing = Hashing(algorithms, progress: progress, context)
        defer { hashing.clear() }
        var members = SharedMembers(arguments, sources, hashing)
        var found: [Int: Result<[[UInt8]], BlobError>] = [:]
        for list in self.lists {
            var missingCount = 0
            for entry in list.entries {
                guard let position = positions[Array(entry.argument.utf8)] else { continue }
                let result = found[position] ?? members.result(position, context)
                found[position] = result
                hashing.clear()
                if self.options.ignoreMissing, case .failure(let error) = result, error.code == .notFound {
                    missingCount += 1
                } else {
                    try self.compare(entry, result, algorithms)
                }
            }
            guard missingCount == list.entries.count else { continue }
            try self.failures.record(
                BlobError(.notFound, "\(list.title) contains only missing files: nothing was verified."))
        }
        if !self.options.status { self.printSummary() }
        try self.failures.end()
    }

    private mutating func compare(
        _ entry: ChecksumList.Entry, _ result: Result<[[UInt8]], BlobError>, _ algorithms: [CryptoDigest]
    ) throws {
        switch result {
        case .success(let digests):
            let digest = zip(algorithms, digests).first { $0.0.name == entry.algorithm.name }?.1
            guard digest != entry.digest else {
                if !Verbosity.isQuiet { try self.printResult(entry, "OK") }
                return
            }
            self.mismatchCount += 1
            try self.printResult(entry, "FAILED")
            let error = BlobError(
                .checksumMismatch,
                "The \(entry.algorithm.name) is \((digest ?? []).hexadecimal), but the list says "
                    + "\(entry.digest.hexadecimal).",
                operation: "read", locator: printableArgument(entry.argument))
            guard !self.options.pass.failFast else {
                if !self.options.status { report(error) }
                throw ExitCode(Self.mismatchStatus)
            }
            try self.failures.record(error, isSilent: self.options.status, status: Self.mismatchStatus)
        case .failure(let error):
            guard error.code != .cancelled else { throw error }
            self.unreadableCount += 1
            try self.printResult(entry, "FAILED open or read")
            try self.failures.record(error)
        }
    }

    private func printResult(_ entry: ChecksumList.Entry, _ result: String) throws(BlobError) {
        guard !self.options.status else { return }
        var name =
            hasSecrets(entry.argument) ? Array(printableArgument(entry.argument).utf8) : listedName(entry.argument)
        // As in sha256sum(1), a name whose only special character is a backslash is not escaped here.
        if !self.options.zero, name.contains(where: { $0 == 0x0A || $0 == 0x0D }),
            let escaped = ChecksumLine.escaped(name)
        {
            name = [UInt8(ascii: "\\")] + escaped
        }
        try printLine(name + Array(": \(result)".utf8), isZero: self.options.zero)
    }

    /// Prints the number of each kind of fault, worded as in sha256sum(1), even with `--quiet`.
    private func printSummary() {
        let improperCount = self.lists.reduce(0) { $0 + $1.faults.count }
        for (count, one, several) in [
            (improperCount, "line is improperly formatted", "lines are improperly formatted"),
            (self.unreadableCount, "listed file could not be read", "listed files could not be read"),
            (self.mismatchCount, "computed checksum did NOT match", "computed checksums did NOT match"),
        ] where count > 0 {
            ProgressLine.printError("blob: WARNING: \(count) \(count == 1 ? one : several)\n")
        }
    }
}

/// The checksums of one list.
struct ChecksumList {
    /// A line of a list and the algorithm of its digest.
    struct Entry {
        /// The file name, as an argument of the command.
        let argument: String
        let algorithm: CryptoDigest
        let digest: [UInt8]
    }

    let name: String
    private(set) var entries: [Entry] = []
    /// The errors for lines that are not checksums.
    private(set) var faults: [BlobError] = []
    private let algorithms: [CryptoDigest]

    /// - Parameters:
    ///   - algorithms: The accepted algorithms. For a line that does not name its algorithm, the length of the digest
    ///     selects one.
    ///   - options: The options for line endings and for the locators that a list may contain.
    /// - Throws: The errors of reading the list and of a disallowed locator; ``BlobError/Code/invalidArgument`` if no
    ///   line is a checksum.
    init(
        _ name: String, _ algorithms: [CryptoDigest], _ options: SumCommand, _ registry: BlobRegistry,
        _ context: BlobContext
    ) throws {
        (self.name, self.algorithms) = (name, algorithms)
        let lines = try LineReader(name, isZero: options.zero, registry, context)
        while let line = try lines.next() {
            guard !line.isEmpty else { continue }
            let entry: Entry
            do throws(BlobError) {
                entry = try self.entry(ChecksumLine(line, mayEscape: !options.zero))
            } catch {
                self.faults.append(error.inLine(lines.number, of: name))
                continue
            }
            try options.pass.listed.check(entry.argument, registry, line: lines.number, of: name)
            self.entries.append(entry)
        }
        guard self.entries.isEmpty else { return }
        throw BlobError(
            .invalidArgument,
            "\(self.title) contains no checksums." + (self.faults.first.map { " \($0.message)" } ?? ""))
    }

    /// The list's title at the beginning of a sentence.
    var title: String { self.name == "-" ? "The list" : "The list \(printableArgument(self.name))" }

    private func entry(_ line: ChecksumLine?) throws(BlobError) -> Entry {
        guard let line else { throw BlobError(.invalidArgument, "Expected a checksum and a file name.") }
        guard
            let algorithm = self.algorithms.first(where: {
                (line.algorithm ?? $0.name) == $0.name && $0.byteCount == line.digest.count
            })
        else {
            throw BlobError(
                .invalidArgument,
                "Expected a digest of \(self.algorithms.map(\.name).joined(separator: ", ")), got "
                    + "\(line.digest.count) bytes\(line.algorithm.map { " of \(printable($0))" } ?? "").")
        }
        return Entry(argument: RawArguments.decoded(line.name), algorithm: algorithm, digest: line.digest)
    }
}
#endif
