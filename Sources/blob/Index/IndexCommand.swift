#if Command
import ArgumentParser
import BlobIndex
import BlobStreamsStandard

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Manages indexes for random access.",
        discussion: """
            An index contains restart points of compressed data and tables of members. It is a cache: stale or damaged \
            indexes are rebuilt, and all indexes may be deleted at any time.
            """,
        subcommands: [
            IndexBuildCommand.self, IndexShowCommand.self, IndexListCommand.self, IndexVerifyCommand.self,
            IndexRemoveCommand.self,
        ])
}

/// The options for the location of an index.
struct IndexPlaceOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Use this index file; the same as --index PATH.", valueName: "file"))
    var output: String?

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard self.policy != .none else { throw ValidationError("This command cannot be used with --index none.") }
        guard self.output != "" else { throw ValidationError("--output requires the path of a file.") }
    }

    var policy: BlobIndexPolicy { self.output.map { .file($0) } ?? self.source.archives.index }

    func makeContext() throws(BlobError) -> BlobContext {
        var context = try self.source.makeContext()
        context.index = self.policy
        return context
    }

    /// Returns the index file, which need not exist.
    func file(for locator: BlobLocator) throws(BlobError) -> IndexFile {
        guard let file = IndexFile(self.policy, for: locator) else {
            throw BlobError(
                .unsupported, "No cache folder found: set HOME or XDG_CACHE_HOME, or use --output FILE.",
                locator: locator.description)
        }
        return file
    }
}

/// The options of the commands for the index of one locator.
struct IndexOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The locator of the indexed data.",
            discussion: "For a plain path, the format of the content is detected."))
    var locator: String

    @OptionGroup var place: IndexPlaceOptions

    var source: SourceOptions { self.place.source }

    /// Returns the locator, its index file, and a context for both.
    func resolved() throws(BlobError) -> (locator: BlobLocator, file: IndexFile, context: BlobContext) {
        let context = try self.place.makeContext()
        let locator = try self.source.makeRegistry().locator(for: self.locator)
        return (locator, try self.place.file(for: locator), context)
    }
}

struct IndexRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes the index of a locator, and prints its path.",
        discussion: """
            All layers over one origin share an index file, which is removed as a whole. --all removes every index in \
            the user's cache folder, and prints their paths.

            EXAMPLES:
              blob index remove log.gz
              blob index remove --all
            """)

    @Argument(help: "The locator of the indexed data.")
    var locator: String?

    @Flag(help: "Remove all indexes in the user's cache folder.")
    var all = false

    @OptionGroup var place: IndexPlaceOptions

    func validate() throws {
        guard self.all == (self.locator == nil) else {
            throw ValidationError("Specify one locator, or --all.")
        }
        guard !self.all || self.place.policy == .automatic else {
            throw ValidationError("--all cannot be used with --output or --index.")
        }
    }

    func run() throws {
        guard let locator = self.locator else {
            for path in try CachedIndex.removeAll(in: self.place.policy) { try printLine(printable(path)) }
            return
        }
        let file = try self.place.file(for: self.place.source.makeRegistry().locator(for: locator))
        if try file.remove() { try printLine(printable(file.path)) }
    }
}

struct IndexVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Verifies every restart point of an index by decoding.",
        discussion: """
            Decodes everything twice: from the start, to verify the checksums in the index, and from each restart \
            point with its window. Prints a line for each incorrect point or section, or the number of points if all \
            are correct. The index is not changed.

            EXAMPLES:
              blob index verify log.gz
              blob index verify log.gz --output log.idx
            """)

    @OptionGroup var options: IndexOptions

    func run() throws {
        let (locator, file, context) = try self.options.resolved()
        let indexable = try self.options.source.makeRegistry().indexable(for: locator, context: context)
        guard file.exists else {
            throw BlobError(.notFound, "No index found at \(file.path).", locator: locator.description)
        }
        guard let verifying = indexable as? any IndexVerifying else {
            throw BlobError(
                .unsupported, "No layer of the source has restart points.", locator: locator.description)
        }
        var faultCount = 0
        let pointCount = try verifying.verifyIndex(context) { fault in
            faultCount += 1
            try printLine(printable(fault))
        }
        for kind in try file.damagedKinds() {
            faultCount += 1
            try printLine("Section \(kind): the checksum is wrong.")
        }
        guard let pointCount else {
            throw BlobError(
                .inconsistent,
                "The index \(file.path) does not contain restart points of the current content: it is stale, damaged, "
                    + "or of another version.", locator: locator.description)
        }
        guard faultCount == 0 else {
            throw BlobError(
                .corrupted,
                "The index \(file.path) is incorrect (faults: \(faultCount), restart points: \(pointCount)).",
                locator: locator.description)
        }
        try printLine("\(pointCount) restart points are correct.")
    }
}
#endif
