#if Command && Photos
import ArgumentParser
import AssetLibrarySource
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import Foundation

struct LibraryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library", abstract: "Manages a library of assets: a folder of originals with a catalogue.",
        discussion: "Other commands read assets by the URLs that import and ls print.",
        subcommands: [
            LibraryAdjustCommand.self, LibraryAlbumCommand.self, LibraryBackupCommand.self, LibraryCheckCommand.self,
            LibraryCreateCommand.self, LibraryImportCommand.self, LibraryListCommand.self,
            LibraryQuarantineCommand.self, LibraryRemoveCommand.self, LibraryThumbnailCommand.self,
        ])
}

/// Returns the identifiers of assets, given as identifiers or URLs; throws before any is used if an argument is
/// neither.
func assetIDs(_ arguments: [String]) throws(BlobError) -> [UUID] {
    var identifiers: [UUID] = []
    for argument in arguments {
        guard let id = UUID(uuidString: argument) ?? (try? BlobLocator(argument).assetID()) else {
            let status = FileStatus(at: argument)
            let kind = status == nil ? "not an asset" : status?.isFolder == true ? "a folder" : "a file"
            throw BlobError(
                .invalidLocator,
                "'\(printable(argument))' is \(kind): assets are named as 'blob library ls' prints them, or by their "
                    + "identifiers.", operation: "resolve")
        }
        identifiers.append(id)
    }
    return identifiers
}

extension SourceOptions {
    /// Opens the library named by the options or the environment, and creates the context of the command.
    func openLibrary(
        for access: AssetLibrary.Access
    ) throws(BlobError) -> (library: AssetLibrary, context: BlobContext) {
        let context = try self.makeContext()
        let folder = try LibraryLocation.folder(self.library)
        do throws(BlobError) {
            return (try AssetLibrary(at: folder, for: access), context)
        } catch {
            guard error.code == .notFound, let found = try? AssetLibrary.catalogue(at: folder) else { throw error }
            throw BlobError(
                .permissionDenied,
                "'\(found.path)' is not an asset library, and is read-only: 'ls', 'album ls' and the URLs of its "
                    + "assets work. Create a library with 'blob library create'.", operation: "open", cause: error)
        }
    }

    /// Opens the catalogue of any kind that the options or the environment name, for reading.
    func openCatalogue() throws(BlobError) -> any AssetCatalogue {
        try AssetLibrary.catalogue(at: LibraryLocation.folder(self.library))
    }
}

struct LibraryBackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Writes a copy of the catalogue, also while other processes use the library.",
        discussion: """
            Any tool can copy the originals and the journal, which are plain files. If the copy replaces a lost \
            catalogue, it is updated from the journal when the library is next opened for writing.
            """)

    @Argument(help: "The file to write; it must not exist.")
    var file: String

    @OptionGroup var source: SourceOptions

    func run() throws {
        let (library, context) = try self.source.openLibrary(for: .reading)
        try library.backUp(to: self.file, context: context)
    }
}

struct LibraryCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Compares the catalogue, the journal and the files of the library.",
        discussion: """
            Prints one line per finding: its kind (catalogue, journal, missing, size, content, digests, orphan, \
            leftover), the asset or the file, and a description. The exit status is 65 if a problem was found and not \
            repaired.
            """)

    @Flag(help: "Read all originals, and compare the digests of their blocks.")
    var deep = false

    @Flag(
        help: """
            Rebuild a lost or damaged catalogue from the journal; move files that the catalogue does not refer to, and \
            originals whose bytes have changed since the import (found by --deep, or by their length), to the \
            quarantine; restore good copies of originals from the quarantine, or mark the originals as missing; and \
            add missing digests. Only the remains of interrupted imports are deleted.
            """)
    var repair = false

    @OptionGroup var source: SourceOptions

    func run() throws {
        let context = try self.source.makeContext()
        var isWrong = false
        let check = try LibraryCheck(
            of: LibraryLocation.folder(self.source.library), isDeep: self.deep, repairs: self.repair, context: context
        ) { finding in
            if !finding.isRepaired, finding.kind != .digests { isWrong = true }
            let end = finding.isRepaired ? " (repaired)" : ""
            try printLine("\(finding.kind.rawValue)  \(printable(finding.subject))  \(printable(finding.detail))\(end)")
        }
        if try !check.run() {
            ProgressLine.printNotice(
                "blob: files without rows were not looked for: the library is in use, or read-only\n")
        }
        if isWrong { throw ExitCode(BlobError.Code.corrupted.exitStatus) }
    }
}

struct LibraryCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "create", abstract: "Creates a new, empty library.")

    @Argument(help: "The folder; it need not exist (default: --library, or \(LibraryLocation.variable)).")
    var folder: String?

    @Option(help: "The folder of the library (default: \(LibraryLocation.variable) in the environment).")
    var library: String?

    func validate() throws {
        guard self.folder == nil || self.library == nil else {
            throw ValidationError("Name the folder once.")
        }
    }

    func run() throws {
        _ = try AssetLibrary.create(at: LibraryLocation.folder(self.folder ?? self.library))
    }
}

struct LibraryRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes assets, and originals that no other asset uses.")

    @Argument(help: "The URLs of the assets, or their identifiers.")
    var assets: [String]

    @OptionGroup var source: SourceOptions

    func run() throws {
        let (library, context) = try self.source.openLibrary(for: .writing)
        for id in try assetIDs(self.assets) { try library.removeAsset(id, context: context) }
    }
}

struct LibraryThumbnailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail",
        abstract: "Writes a thumbnail of an original, and keeps it in the user's cache folder.",
        discussion: """
            The thumbnail is an upright JPEG in sRGB of the imported picture, without adjustments. The program \
            blob-media-helper decodes the original with libvips.
            """)

    @Argument(help: "The URL of the asset, or its identifier.")
    var asset: String

    @Option(help: "The maximum width and height in pixels: 256 or 1024.")
    var size = 256

    @Option(name: .shortAndLong, help: "The file to write (default: standard output).")
    var output: String?

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard Thumbnail.Size(rawValue: self.size) != nil else { throw ValidationError("--size takes 256 or 1024.") }
    }

    func run() throws {
        let context = try self.source.makeContext()
        let catalogue = try self.source.openCatalogue()
        // Other programs' catalogues have their own identifiers, which may be paths.
        var id = self.asset.contains("://") ? try BlobLocator(self.asset).catalogueID() : self.asset
        if catalogue is AssetLibrary { id = try assetIDs([self.asset])[0].uuidString }
        let size = Thumbnail.Size(rawValue: self.size) ?? .small
        let bytes = try catalogue.thumbnail(of: id, size, context: context).bytes
        try bytes.withUnsafeBytes { bytes in
            guard let output else { return try StandardOutput().write(bytes) }
            let file = try AtomicFile(path: output)
            try file.write(bytes)
            try file.commit()
        }
    }
}
#endif
