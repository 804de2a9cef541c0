#if Command
public import ArgumentParser
import BlobPlatform
public import BlobStreamsStandard

/// The options of all commands that read locators.
struct SourceOptions: ParsableArguments {
    @Flag(
        name: [.customShort("z"), .long],
        help: "Decode every filter detected in the content, such as gzip and xz; also in members.")
    var decode = false

    @Option(help: "Fail if no data arrives for this many seconds (default: 60 from web servers, otherwise never).")
    var idleTimeout: Double?

    @Option(
        help: ArgumentHelp(
            "Keep indexes for random access here: auto (the user's cache folder), none, or a file.",
            valueName: "auto|none|path"))
    var index = BlobIndexPolicy.automatic

    @Option(
        help: ArgumentHelp(
            "Fail if more than this many bytes have to be copied to a temporary file (default: 1 GiB).",
            valueName: "bytes"))
    var spoolLimit: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Fail if data expands to more than this many times its compressed size, after the first MiB.",
            valueName: "ratio"))
    var maxRatio: Int?

    @Option(
        help: ArgumentHelp(
            "Fail if a decoder (7z, xz, lzma, zstd, PPMd) needs more than this much memory (default: 128 MiB).",
            valueName: "bytes"))
    var memoryLimit: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Decrypt zip and 7z archives with the password in the first line of this file ('-': standard input).",
            valueName: "file"))
    var passwordFile: String?

    @Option(
        help: """
            Use the asset library in this folder; for reading, also a folder of photos, or the catalogue of digiKam or \
            Shotwell (default: \(LibraryLocation.variable) in the environment).
            """)
    var library: String?

    @Option(
        help: """
            If the adjustment of a library picture cannot be rendered: fail, or read the original, or render (the \
            rendering of another program, if the library has it). '&unrenderable=' in a URL takes precedence.
            """)
    var unrenderable = UnrenderableChoice.fail

    @Option(
        help: """
            Read archives of this format even without a confined helper process: in the program blob-archive-helper \
            if the system does not confine it, or in this process if that program is missing (may be repeated). The \
            readers of these formats are known to fail badly on damaged archives. 'media' allows pictures and films of \
            a library to be read even if blob-media-helper is not confined.
            """)
    var allowFormat: [AllowedFormat] = []

    // Not nested: in a debug build, the argument parser checks the options of a group again for each enclosing group.
    @OptionGroup var web: WebOptions
    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var store: S3Options

    @OptionGroup var verbosity: VerbosityOptions

    /// Returns the registry of everything that locators can name.
    ///
    /// Creates a new registry: call it once rather than for each name.
    func makeRegistry() -> BlobRegistry {
        PasswordFile.registryForData(self.registry(self.web), besides: self.passwordFile)
    }

    /// Returns the sources of arguments, from ``makeRegistry()``.
    func makeSources() -> ArgumentSources { ArgumentSources(registry: self.makeRegistry(), decodes: self.decode) }

    private func registry(_ web: WebOptions) -> BlobRegistry {
        let registry = BlobRegistry.forCommand(
            library: self.library, unrenderable: self.unrenderable,
            allowing: Set(self.allowFormat.compactMap(\.archive)))
        return web.applied(to: registry, self.connection, self.store)
    }

    var idleLimit: Duration? { self.idleTimeout.map { .seconds($0) } }

    func validate() throws {
        if let maxRatio, maxRatio < 1 { throw ValidationError("--max-ratio must be at least 1.") }
        try Seconds.validate(self.idleTimeout, "--idle-timeout")
    }

    /// Returns the context of the command.
    ///
    /// Reads the password file: call it once.
    func makeContext() throws(BlobError) -> BlobContext {
        Verbosity.set(self.verbosity)
        var context = Interrupts.makeContext(idleLimit: self.idleLimit)
        context.eventSink = Verbosity.note
        context.ratioLimit = self.maxRatio
        context.index = self.index
        if let spoolLimit { context.spoolLimit = spoolLimit.value }
        if let memoryLimit { context.memoryLimit = memoryLimit.value }
        context.allowsUnconfinedMedia = self.allowFormat.contains(.media)
        context.mayBlock = true  // Commands may block the threads on which they read.
        if let passwordFile {
            let password = try PasswordFile(passwordFile, self.registry(self.web.forPasswordFile)).password(context)
            context.password = { _ in password }
        }
        return context
    }
}

/// A format that is decoded without a confined helper process only if the user allows it.
enum AllowedFormat: Hashable, ExpressibleByArgument {
    case archive(ArchiveFormat)
    /// Pictures and films.
    case media

    private static let mediaName = "media"

    static var allValueStrings: [String] { ArchiveFormat.isolated.map(\.rawValue).sorted() + [self.mediaName] }

    /// Creates a format from its name; nil if `--allow-format` does not accept the name.
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

/// The value of `--unrenderable`: the bytes to read in place of a picture whose adjustment cannot be rendered.
enum UnrenderableChoice: String, ExpressibleByArgument, CaseIterable {
    case fail, original, render
}

/// The value of `--index`.
extension BlobIndexPolicy: ExpressibleByArgument {
    /// Creates a policy from `auto`, `none` or the path of a file; nil for an empty argument.
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
