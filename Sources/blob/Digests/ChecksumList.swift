import BlobCommandLine
import BlobStreamsStandard

/// The checksums of one list.
struct ChecksumList {
    /// A line of a list, with the algorithm of its digest.
    struct Entry {
        /// The name as an argument of the command.
        let argument: String
        let algorithm: CryptoDigest
        let digest: [UInt8]
    }

    let name: String
    private(set) var entries: [Entry] = []
    /// The errors of the lines that are no checksums.
    private(set) var faults: [BlobError] = []
    private let algorithms: [CryptoDigest]

    /// - Parameters:
    ///   - algorithms: The algorithms that are accepted; a line that names none has the one whose digests have its length.
    ///   - isZero: True when a zero byte ends each line.
    ///   - check: Throws for a locator that a list may not name, in the line of a number.
    /// - Throws: The errors of reading the list and of `check`; ``BlobError/Code/invalidArgument`` when no line is a
    ///   checksum.
    init(
        _ name: String, _ algorithms: [CryptoDigest], isZero: Bool, _ source: SourceOptions, _ context: BlobContext,
        check: (_ argument: String, _ number: Int) throws(BlobError) -> Void
    ) throws {
        (self.name, self.algorithms) = (name, algorithms)
        try source.forEachLine(of: name, isZero: isZero, context) { line, number in
            guard !line.isEmpty else { return }
            let entry: Entry
            do throws(BlobError) {
                entry = try self.entry(ChecksumLine(line, mayEscape: !isZero))
            } catch {
                return self.faults.append(error.inLine(number, of: name))
            }
            try check(entry.argument, number)
            self.entries.append(entry)
        }
        guard self.entries.isEmpty else { return }
        throw BlobError(
            .invalidArgument, "\(self.title) has no checksums." + (self.faults.first.map { " \($0.message)" } ?? ""))
    }

    /// The list as a sentence begins with it.
    var title: String { self.name == "-" ? "The list" : "The list \(printableArgument(self.name))" }

    private func entry(_ line: ChecksumLine?) throws(BlobError) -> Entry {
        guard let line else { throw BlobError(.invalidArgument, "This is no checksum with a name.") }
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
}
