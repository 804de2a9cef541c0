#if Command
import ArgumentParser
import BlobExtraction
import BlobPlatform
import BlobStreamsStandard

struct ExtractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extract", abstract: "Extracts the members of an archive to a folder.",
        discussion: """
            Members are read to their ends, with all checks, and get their names when they are complete; they are not \
            synchronised to the disk. Nothing is written beyond the folder, nor through a symbolic link, also one that \
            exists: members whose names or hard links' targets are absolute or have '..' as a part, symbolic links that \
            may lead out of the folder, devices and FIFOs are skipped, which is reported at the end; the status is \(skippedStatus) if \
            nothing else failed. Permissions are without set-id bits and what the \
            umask takes away; times are kept, owners are not. An error of a member is reported, and the others are \
            extracted; the status is that of the first error. Most tars have no checksums: an error at the end of the \
            archive puts all members in doubt. With -v, the name of each member is printed before it is extracted.

            A GLOB selects members by name: '*', '?' and '[...]' stand for characters other than '/', '**' for any \
            folders, and a folder for all that is in it. Characters as %XX, as 'blob ls' prints them, are no wildcards. \
            'x.tgz#dir/*' is the same as x.tgz 'dir/*', and so is the name of a member that is no archive.
            """)

    /// More bytes than a typical program extracts to a folder: 64 GiB.
    private static let defaultMaximumByteCount: Int64 = 64 << 30

    /// The exit status if members were skipped for safety and there was no other failure.
    private static let skippedStatus: Int32 = 1

    private static let plainCharacters = PercentEncoding.pathCharacters.subtracting("*?[%".utf8)

    /// A ratio above the maximum of deflate (1032); better methods exceed it only with data made for that purpose.
    private static let defaultMaximumRatio = 2000

    @Argument(help: "The archive, also inside other layers: outer.tar.gz#inner.zip.")
    var locator: String

    @Argument(help: ArgumentHelp("Patterns of the names of members (default: all members).", valueName: "glob"))
    var globs: [String] = []

    @Option(
        name: [.customShort("C"), .long],
        help: ArgumentHelp("The folder, which is made if only its last name is missing.", valueName: "path"))
    var directory = "."

    @Flag(help: "Replace existing files and links, though not folders; the last of several members of a name stays.")
    var overwrite = false

    @Option(
        help: """
            Skip absolute symbolic links, or make them relative, as if the folder were the root: skip, relative.
            """)
    var absoluteLinks = AbsoluteLinks.skip

    @Flag(help: "End at the first error.")
    var failFast = false

    @Option(help: "End after this many bytes of all members together (default: \(defaultMaximumByteCount)).")
    var maxBytes: ByteCount?

    @Option(help: "End after this many members, or folders made for them.")
    var maxMembers = BlobArchive.defaultMaximumCount

    @Option(
        help: ArgumentHelp("Extract at most this many bytes per second, all members together: 500k.", valueName: "rate")
    )
    var limitRate: ByteRate?

    @Option(help: "Show progress: auto, always, never.")
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.source.decode else {
            throw ValidationError("extract goes without -z: members are written as they are.")
        }
        guard self.maxMembers >= 0 else { throw ValidationError("--max-members cannot be negative.") }
    }

    func run() throws {
        var context = try self.source.makeContext()
        context.ratioLimit = context.ratioLimit ?? Self.defaultMaximumRatio
        let registry = self.source.makeRegistry()
        let (archive, locator, globs) = try self.archive(registry, context)
        let folder = try OutputFolder(
            path: Array(self.directory.utf8), isReplacing: self.overwrite,
            makesLinksRelative: self.absoluteLinks == .relative)
        let extractor = Extractor(
            locator, folder, globs, maximumCount: self.maxMembers, endsAtError: self.failFast)
        let copier = Copier(
            extractor.output, limit: self.maxBytes?.value ?? Self.defaultMaximumByteCount, rate: self.limitRate,
            progress: self.progress, itemCount: nil, context)
        defer { copier.finish() }
        do {
            defer { folder.finish() }
            try archive.forEachSource(where: globs.isEmpty ? nil : extractor.isSelected, context) { member, source in
                try extractor.extract(member, source, copier)
            }
        } catch {
            let error = BlobError(wrapping: error)
            guard extractor.firstError != nil, error.code != .cancelled else {
                folder.removeIfNew()
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
        folder.removeIfNew()
        throw ExitCode(extractor.firstError?.code.exitStatus ?? Self.skippedStatus)
    }

    /// Returns the archive and the patterns; for the locator of a single member that is not an archive, the containing
    /// archive.
    private func archive(
        _ registry: BlobRegistry, _ context: BlobContext
    ) throws(BlobError) -> (BlobArchive, BlobLocator, [String]) {
        let (locator, globs) = try self.selection(registry)
        do throws(BlobError) {
            let archive = try registry.explainingWhatIsNoArchive(locator, context) { () throws(BlobError) in
                try registry.openArchive(at: locator, context)
            }
            return (archive, locator, globs)
        } catch {
            guard error.code == .unsupported, globs.isEmpty, let container = locator.container,
                case .name(let name) = locator.selectors.last,
                (try? registry.source(for: container.origin, context: context))?.traits.contains(.repeatable) == true
            else { throw error }
            // Percent-encoded, so that no character is a wildcard.
            let glob = PercentEncoding.encode(name, leaving: Self.plainCharacters)
            return (try registry.openArchive(at: container, context), container, [glob])
        }
    }

    /// Returns the archive and the patterns, of which one may follow a '#' in the argument.
    private func selection(_ registry: BlobRegistry) throws(BlobError) -> (BlobLocator, [String]) {
        guard let selection = registry.memberSelection(self.locator) else {
            return (try registry.locator(for: self.locator), self.globs)
        }
        guard self.globs.isEmpty else {
            throw BlobError(.invalidArgument, "A pattern behind '#' goes without further ones: give all as GLOBs.")
        }
        return (selection.container, [selection.pattern.text])
    }
}

/// The values of `--absolute-links`.
enum AbsoluteLinks: String, ExpressibleByArgument, CaseIterable {
    case skip, relative
}
#endif
