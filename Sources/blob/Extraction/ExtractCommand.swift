#if Command
import ArgumentParser
import BlobExtraction
import BlobPlatform
import BlobStreamsStandard

struct ExtractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extract", abstract: "Extracts archives, in any format, to a folder.",
        discussion: """
            Nothing is written outside the folder, and each member appears only when complete and verified.

            Members are read completely, with all checks, and appear under their names only when complete; they are \
            not synchronised to the disk. Nothing is written outside the folder or through a symbolic link, including \
            an existing one. The following are skipped and reported at the end: members whose names or hard-link \
            targets are absolute or contain '..', symbolic links that may lead out of the folder, devices and FIFOs. \
            The status is then \(skippedStatus) if nothing else failed. Permissions are set without set-id bits and \
            according to the umask; times are preserved, owners are not. An error in one member is reported, and the \
            others are still extracted; the status is the status of the first error. Most tars have no checksums: an \
            error at the end of the archive puts all members in doubt. With -v, the name of each member is printed \
            before it is extracted.

            A GLOB selects members by name: '*', '?' and '[...]' stand for characters other than '/', '**' for any \
            folders; a folder selects everything in it. Characters written as %XX, as 'blob ls' prints them, are not \
            wildcards. 'x.tgz#dir/*' is the same as x.tgz 'dir/*'; the name of a member that is not an archive also \
            works after '#'.

            EXAMPLES:
              blob extract backup.tgz -C restored
              blob extract https://example.com/site.zip '**/*.html'
            """)

    /// The default limit on the number of extracted bytes, more than an archive typically contains: 64 GiB.
    private static let defaultMaximumByteCount: Int64 = 64 << 30

    /// The exit status if members were skipped for safety and no other failure occurred.
    private static let skippedStatus: Int32 = 1

    private static let plainCharacters = PercentEncoding.pathCharacters.subtracting("*?[%".utf8)

    /// The default limit on the compression ratio, above deflate's maximum of 1032. Better methods exceed it only with
    /// data crafted for that purpose.
    private static let defaultMaximumRatio = 2000

    @Argument(
        help: ArgumentHelp(
            "The archive, such as a.zip or outer.tgz#inner.zip.",
            discussion: "It may be compressed, or a member of another archive."))
    var locator: String

    @Argument(
        help: ArgumentHelp(
            "Patterns for the names of members (default: all).", valueName: "glob"))
    var globs: [String] = []

    @Option(
        name: [.customShort("C"), .long],
        help: ArgumentHelp("Extract to this folder, which is created if necessary.", valueName: "path"))
    var directory = "."

    @Flag(
        help: ArgumentHelp(
            "Replace existing files and links.",
            discussion: "Folders are not replaced. If member names repeat, the last member is kept."))
    var overwrite = false

    @Option(
        help: .advanced(
            """
            Skip absolute symbolic links, or make them relative, as if the folder were the root: skip, relative.
            """))
    var absoluteLinks = AbsoluteLinks.skip

    @Flag(help: .advanced("Stop at the first error."))
    var failFast = false

    @Option(
        help: .advanced("Stop after this many bytes in all members together (default: \(defaultMaximumByteCount))."))
    var maxBytes: ByteCount?

    @Option(help: .advanced("Stop after this many members, or this many folders created for them."))
    var maxMembers = BlobArchive.defaultMaximumCount

    @Option(
        help: .advanced(
            "Extract at most this many bytes per second in all members together, such as 500k.", valueName: "rate"))
    var limitRate: ByteRate?

    @Option(help: .advanced("Show progress: auto, always or never."))
    var progress = ProgressMode.auto

    @OptionGroup(title: "Web servers") var redirects: RedirectOptions

    @OptionGroup var source: SourceOptions

    @Option(
        help: .advanced(
            "Remove this many leading folders from names; members without others are skipped.", valueName: "count"))
    var stripComponents = 0

    @Option(
        name: .customLong("exclude"),
        help: .advanced(
            "Skip members that match this pattern, and everything in such folders (may be repeated).",
            valueName: "glob"))
    var excluded: [String] = []

    @Flag(help: .advanced("Print the names of the files and folders that would be written, and write nothing."))
    var dryRun = false

    func validate() throws {
        guard self.stripComponents >= 0 else { throw ValidationError("--strip-components cannot be negative.") }
        guard !self.source.reading.decode else {
            throw ValidationError("'blob extract' cannot be used with -z: members are extracted unchanged.")
        }
        guard self.maxMembers >= 0 else { throw ValidationError("--max-members cannot be negative.") }
    }

    func run() throws {
        var context = try self.source.makeContext()
        context.ratioLimit = context.ratioLimit ?? Self.defaultMaximumRatio
        var sources = self.source.makeSources()
        // Some members may be a small part of the archive.
        let readsAll = self.globs.isEmpty && !self.locator.contains("#")
        let progress = sources.progress(
            ProgressLine(self.progress), of: readsAll ? [self.locator] : nil, readsAll: readsAll)
        let registry = sources.registry
        let (archive, locator, globs) = try self.archive(registry, context)
        let makesLinksRelative = self.absoluteLinks == .relative
        let folder =
            self.dryRun
            ? nil
            : try OutputFolder(
                path: Array(self.directory.utf8), isReplacing: self.overwrite, makesLinksRelative: makesLinksRelative)
        let extractor = Extractor(
            locator, folder, globs, excluding: self.excluded, strippedCount: self.stripComponents,
            makesLinksRelative: makesLinksRelative, maximumCount: self.maxMembers, endsAtError: self.failFast)
        let copier = Copier(
            extractor.output, limit: self.maxBytes?.value ?? Self.defaultMaximumByteCount, rate: self.limitRate,
            progress: progress, context)
        defer { copier.finish() }
        do {
            defer { folder?.finish() }
            let isAll = globs.isEmpty && self.excluded.isEmpty
            try archive.forEachSource(where: isAll ? nil : extractor.isSelected, context) { member, source in
                try extractor.extract(member, source, copier)
            }
        } catch {
            let error = BlobError(wrapping: error)
            guard extractor.firstError != nil, error.code != .cancelled else {
                folder?.removeIfNew()
                throw error
            }
            copier.finish()
            if !extractor.hasReported(error) { report(error) }
        }
        extractor.reportUnusedGlobs()
        if extractor.skippedCount > 0 {
            copier.finish()
            extractor.reportSkipped()
        }
        guard extractor.firstError != nil || extractor.skippedCount > 0 else { return }
        folder?.removeIfNew()
        throw ExitCode(extractor.firstError?.code.exitStatus ?? Self.skippedStatus)
    }

    /// Returns the archive and the patterns; for the locator of a single member that is not an archive, returns the
    /// containing archive.
    private func archive(
        _ registry: BlobRegistry, _ context: BlobContext
    ) throws(BlobError) -> (BlobArchive, BlobLocator, [String]) {
        let (locator, globs) = try self.selection(registry)
        do throws(BlobError) {
            let archive = try registry.describingNonArchive(locator, context) { () throws(BlobError) in
                try registry.openArchive(at: locator, context)
            }
            return (archive, locator, globs)
        } catch {
            guard [.unsupported, .notFound].contains(error.code), globs.isEmpty, let container = locator.container,
                case .name(let name) = locator.selectors.last,
                (try? registry.source(for: container.origin, context: context))?.traits.contains(.repeatable) == true
            else { throw error }
            // Percent-encoded, so that no character is a wildcard.
            let glob = PercentEncoding.encode(name, leaving: Self.plainCharacters)
            return (try registry.openArchive(at: container, context), container, [glob])
        }
    }

    /// Returns the archive and the patterns, including a pattern after a '#' in the argument.
    private func selection(_ registry: BlobRegistry) throws(BlobError) -> (BlobLocator, [String]) {
        guard let selection = registry.memberSelection(self.locator) else {
            return (try registry.locator(for: self.locator), self.globs)
        }
        guard self.globs.isEmpty else {
            throw BlobError(
                .invalidArgument, "A pattern after '#' cannot be combined with GLOBs: pass all patterns as GLOBs.")
        }
        return (selection.container, [selection.pattern.text])
    }
}

/// The values of `--absolute-links`.
enum AbsoluteLinks: String, ExpressibleByArgument, CaseIterable {
    case skip, relative
}
#endif
