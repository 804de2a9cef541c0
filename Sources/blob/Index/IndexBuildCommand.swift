#if Command
import ArgumentParser
import BlobIndex
import BlobPlatform
import BlobStreamsStandard

struct IndexBuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "build",
        abstract: "Builds the index of a locator, and prints its path.",
        discussion: """
            A valid index is kept.

            EXAMPLES:
              blob index build log.gz
              blob index build log.gz --output log.idx --from log.gzi
            """)

    @OptionGroup var options: IndexOptions

    @Option(
        help: ArgumentHelp(
            "Verify and use this index of another tool.",
            discussion: """
                The index may be from bgzip, indexed_gzip, rapidgzip or gztool. Fails if any point in it does not \
                match the data.
                """, valueName: "file"))
    var from: String?

    @Option(help: .advanced("Show progress: auto, always or never."))
    var progress = ProgressMode.auto

    func run() throws {
        let (locator, file, plain) = try self.options.resolved()
        var context = plain
        let registry = self.options.source.makeRegistry()
        let indexable = try registry.indexable(for: locator, context: context)
        let origin = try registry.source(for: locator.origin, context: context).info(context)
        let (line, read) = (ProgressLine(self.progress), Locked(Int64(0)))
        context.eventSink = { event in
            guard event.kind == .bytes else { return }
            read.withLock { read in
                read += event.value
                line.show(read, of: origin.byteCount)
            }
        }
        defer { line.clear() }
        guard try self.build(indexable, context) else {
            throw BlobError(
                .unsupported,
                "An index would not help: the data has random access without one, or can only be read in order, "
                    + "like bzip2 data with a single block or zstd data with a single frame.",
                locator: locator.description)
        }
        line.clear()
        try printLine(printable(file.path))
    }

    private func build(_ indexable: any BlobIndexing, _ context: BlobContext) throws -> Bool {
        guard let from else { return try indexable.buildIndex(context) }
        guard let file = IndexFile(.file(from), for: nil), file.exists else {
            throw BlobError(.notFound, "No index found at \(from).")
        }
        guard let other = try file.toolIndex() else {
            throw BlobError(
                .unsupported,
                "\(from) is not an index of bgzip, indexed_gzip or gztool, or belongs to another user.")
        }
        guard let importing = indexable as? any ToolIndexImporting else {
            throw BlobError(.unsupported, "The index \(from) is for gzip data, but no layer of the source is gzip.")
        }
        return try importing.importIndex(other, context)
    }
}
#endif
