#if Command
import ArgumentParser
import BlobIndex
import BlobPlatform
import BlobStreamsStandard

/// The kinds of records at whose boundaries bytes can be split.
enum RecordKind: String, ExpressibleByArgument, CaseIterable {
    case lines
}

struct JobSplitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "splits",
        abstract: "Prints ranges that cost about the same to read.",
        discussion: """
            Each range is one line of JSON, for a task that reads in parallel with others.

            Prints one JSON object per line: the locator, the offset and length of the decoded bytes, and the offset \
            of the first compressed byte to read. Filters are decoded as by 'blob cat -z'. Ranges begin at restart \
            points, blocks or members, so that nothing is decoded twice; if there are not enough of these, there are \
            fewer ranges. Compressed data that does not list its blocks requires an index: see 'blob index build'.

            'blob cat LOCATOR --offset OFFSET --length LENGTH' prints a range. With --records lines in both commands, \
            it prints the complete lines that begin in the range, so that all ranges together contain each line once.

            EXAMPLES:
              blob job splits log.gz --count 8 --records lines
              blob job splits -z backup.tar.zst --bytes 64M
            """)

    /// The default split size of other engines (spark.sql.files.maxPartitionBytes): 128 MiB.
    private static let defaultByteCount: Int64 = 128 << 20

    /// The maximum number of ranges, each of which becomes a task of an engine.
    private static let maximumCount: Int64 = 1_000_000

    @OptionGroup var options: IndexOptions

    @Option(help: "Print this many ranges.")
    var count: Int?

    @Option(
        help: ArgumentHelp(
            "Print ranges of this average length (default: 128M).",
            discussion: "The length is counted in decoded bytes."))
    var bytes: ByteCount?

    @Option(help: ArgumentHelp("Split at records, for 'blob cat --records'.", valueName: "lines"))
    var records: RecordKind?

    func validate() throws {
        guard self.count == nil || self.bytes == nil else {
            throw ValidationError("--count cannot be used with --bytes.")
        }
        guard (1...Self.maximumCount).contains(Int64(self.count ?? 1)) else {
            throw ValidationError("--count must be a number from 1 to \(Self.maximumCount).")
        }
        guard self.bytes?.value != 0 else { throw ValidationError("--bytes must be at least 1.") }
    }

    func run() throws {
        let context = try self.options.place.makeContext()
        let sources = ArgumentSources(registry: self.options.source.makeRegistry(), decodes: true)
        let source = try sources.source(self.options.locator, context)
        let locator = printable(source.locator?.text ?? self.options.locator)
        let (cuts, byteCount) = try self.cuts(of: source, context)
        // One byte after the point at which decoding begins, because a record reader begins one byte before its range.
        let shift: Int64 = self.records == nil ? 0 : 1
        let offsets = cuts.map { $0.byteOffset == 0 ? 0 : $0.byteOffset + shift } + [byteCount]
        for (cut, (start, end)) in zip(cuts, zip(offsets, offsets.dropFirst())) {
            let split: JSONObject = [
                "locator": locator, "offset": start, "length": end - start,
                "compressed_offset": cut.compressedByteOffset, "records": self.records?.rawValue,
            ]
            try printLine(jsonLine(split))
        }
    }

    /// The start of a range.
    private typealias Cut = (byteOffset: Int64, compressedByteOffset: Int64)

    /// Returns the starts of the ranges, and the total number of bytes.
    private func cuts(
        of source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws -> (cuts: [Cut], byteCount: Int64) {
        // The only layer known to leave the bytes unchanged.
        let bytes = (source as? NamedMemberSource)?.underlying ?? source
        if let points = try (bytes as? any RestartPointListing)?.restartPoints(context) {
            guard points.byteCount > 0 else { return ([(0, 0)], 0) }
            let cuts = points.cuts(count: try self.count(of: points.byteCount))
            return (cuts.map { ($0.byteOffset, $0.compressedByteOffset) }, points.byteCount)
        }
        let info = try source.info(context)
        guard let byteCount = info.byteCount, info.isRandomAccess else {
            throw BlobError(
                .unsupported,
                "No restart points found at which reading could begin. 'blob index build' finds them in gzip data, in "
                    + "bzip2 data with more than one block, and in zstd data with more than one frame.",
                locator: source.locator?.description)
        }
        let count = try self.count(of: byteCount)
        let cuts = (0..<Int64(count)).map { byteCount.multipliedFullWidth(by: $0) }
            .map { Int64(count).dividingFullWidth($0).quotient }
        return (Set(cuts).sorted().map { ($0, $0) }, byteCount)
    }

    private func count(of byteCount: Int64) throws(BlobError) -> Int {
        if let count { return count }
        let size = self.bytes?.value ?? Self.defaultByteCount
        let count = max(1, byteCount / size + (byteCount % size == 0 ? 0 : 1))
        guard count <= Self.maximumCount else {
            throw BlobError(.limitExceeded, "There are more ranges than the limit of \(Self.maximumCount).")
        }
        return Int(count)
    }
}
#endif
