#if Command
public import ArgumentParser
import BlobPlatform
public import BlobStreamsStandard

/// The options for reading any source.
struct ReadingOptions: ParsableArguments {
    @Flag(
        name: [.customShort("z"), .long],
        help: ArgumentHelp(
            "Decompress the content (gzip, xz, ...).",
            discussion: "Decodes every filter detected in the content, including the content of members."))
    var decode = false

    @Option(
        help: .advanced(
            "Fail if no data arrives for this many seconds (default: 60 from web servers, otherwise never)."))
    var idleTimeout: Double?

    func validate() throws { try Seconds.validate(self.idleTimeout, "--idle-timeout") }
}

/// The options for archives, compressed data and their indexes.
struct ArchiveOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the password of archives from this file.",
            discussion: """
                The password is the first line of the file, and is used for zip and 7z archives. '-' is standard input.
                """, valueName: "file"))
    var passwordFile: String?

    @Option(
        help: .advanced(
            "Keep indexes for random access here: auto (the user's cache folder), none, or a file.",
            valueName: "auto|none|path"))
    var index = BlobIndexPolicy.automatic

    @Option(
        help: .advanced(
            "Fail if an archive larger than this has to be copied to a temporary file (default: 1 GiB).",
            valueName: "bytes"))
    var spoolLimit: ByteCount?

    @Option(
        help: .advanced(
            "Fail if data expands to more than this many times its compressed size, after the first MiB.",
            valueName: "ratio"))
    var maxRatio: Int?

    @Option(
        help: .advanced(
            "Fail if a decoder (7z, xz, lzma, zstd, PPMd) needs more than this much memory (default: 128 MiB).",
            valueName: "bytes"))
    var memoryLimit: ByteCount?

    func validate() throws {
        if let maxRatio, maxRatio < 1 { throw ValidationError("--max-ratio must be at least 1.") }
    }
}

/// The option for formats that a confined helper process decodes.
struct ConfinementOptions: ParsableArguments {
    @Option(
        help: .advanced(
            """
            Read archives of this format even without a confined helper process: in the program blob-archive-helper \
            if the system does not confine it, or in this process if that program is missing (may be repeated). The \
            readers of these formats are known to fail badly on damaged archives. 'media' allows pictures and films of \
            a library to be read even if blob-media-helper is not confined.
            """))
    var allowFormat: [AllowedFormat] = []
}

/// The option for the location of an asset library.
struct LibraryPlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use this library (default: \(LibraryLocation.variable)).",
            discussion: """
                The variable \(LibraryLocation.variable) is read from the environment. For reading, the library may \
                also be a folder of photos, or the catalogue of digiKam or Shotwell.
                """, valueName: "folder"))
    var library: String?
}

/// The option for pictures whose adjustments cannot be rendered.
struct RenderingOptions: ParsableArguments {
    @Option(
        help: .advanced(
            "Choose what to read if an adjustment cannot be rendered.",
            discussion: """
                With 'fail', reading such a picture of a library fails; 'original' reads the original; 'render' reads \
                another program's rendering, if the library has one. '&unrenderable=' in a URL takes precedence.
                """, valueName: "choice"))
    var unrenderable = UnrenderableChoice.fail
}

/// The options shared by all commands that read locators.
struct SourceOptions: ParsableArguments {
    @OptionGroup(title: "Reading") var reading: ReadingOptions
    @OptionGroup(title: "Archives and indexes") var archives: ArchiveOptions
    @OptionGroup(title: "Archives and indexes") var confinement: ConfinementOptions
    @OptionGroup(title: "Library", visibility: .hidden) var place: LibraryPlaceOptions
    @OptionGroup(title: "Library", visibility: .hidden) var rendering: RenderingOptions
    @OptionGroup(title: "Web servers") var web: WebOptions
    @OptionGroup(title: "Web servers", visibility: .hidden) var connection: ConnectionOptions
    @OptionGroup(title: "S3", visibility: .hidden) var s3: S3Options
    @OptionGroup var verbosity: VerbosityOptions

    /// Returns the registry with all providers that locators can use.
    ///
    /// Creates a new registry; call this method once rather than for each name.
    func makeRegistry() -> BlobRegistry {
        PasswordFile.registryForData(self.registry(self.web), besides: self.archives.passwordFile)
    }

    /// Returns the sources of arguments, from ``makeRegistry()``.
    func makeSources() -> ArgumentSources {
        ArgumentSources(registry: self.makeRegistry(), decodes: self.reading.decode)
    }

    private func registry(_ web: WebOptions) -> BlobRegistry {
        let registry = BlobRegistry.forCommand(
            library: self.place.library, unrenderable: self.rendering.unrenderable,
            allowing: Set(self.confinement.allowFormat.compactMap(\.archive)))
        return web.applied(to: registry, self.connection, self.s3)
    }

    var idleLimit: Duration? { self.reading.idleTimeout.map { .seconds($0) } }

    /// Returns the context of the command.
    ///
    /// Reads the password file; call this method once.
    func makeContext() throws(BlobError) -> BlobContext {
        Verbosity.set(self.verbosity)
        var context = Interrupts.makeContext(idleLimit: self.idleLimit)
        Verbosity.observe(&context)
        context.ratioLimit = self.archives.maxRatio
        context.index = self.archives.index
        if let spoolLimit = self.archives.spoolLimit { context.spoolLimit = spoolLimit.value }
        if let memoryLimit = self.archives.memoryLimit { context.memoryLimit = memoryLimit.value }
        context.allowsUnconfinedMedia = self.confinement.allowFormat.contains(.media)
        context.mayBlock = true  // Commands may block the threads on which they read.
        if let passwordFile = self.archives.passwordFile {
            let password = try PasswordFile(passwordFile, self.registry(self.web.passwordFileOptions)).password(context)
            context.password = { _ in password }
        }
        return context
    }
}

/// A format that is decoded without a confined helper process only if the user allows it.
enum AllowedFormat: Hashable, ExpressibleByArgument {
    case archive(ArchiveFormat)
    /// Pictures and movies.
    case media

    private static let mediaName = "media"

    static var allValueStrings: [String] { ArchiveFormat.isolated.map(\.rawValue).sorted() + [self.mediaName] }

    /// Creates a format from its name; fails if `--allow-format` does not accept the name.
    init?(argument: String) {
        if argument == Self.mediaName {
            self = .media
        } else if let format = ArchiveFormat(rawValue: argument), ArchiveFormat.isolated.contains(format) {
            self = .archive(format)
        } else {
            return nil
        }
    }

    var archive: ArchiveFormat? {
        if case .archive(let format) = self { format } else { nil }
    }
}

/// The value of `--unrenderable`: the bytes to read instead of a picture whose adjustments cannot be rendered.
enum UnrenderableChoice: String, ExpressibleByArgument, CaseIterable {
    case fail, original, render
}

/// The value of `--index`.
extension BlobIndexPolicy: ExpressibleByArgument {
    /// Creates a policy from `auto`, `none` or the path of a file; fails for an empty argument.
    public init?(argument: String) {
        switch argument {
        case "": return nil
        case "auto": self = .automatic
        case "none": self = .none
        default: self = .file(argument)
        }
    }

    /// The policy as written on the command line.
    public var defaultValueDescription: String {
        switch self.place {
        case .none: "none"
        case .automatic: "auto"
        case .folder(let path, _), .file(let path): path
        }
    }
}
#endif
