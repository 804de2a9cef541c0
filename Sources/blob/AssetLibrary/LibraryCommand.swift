#if Command && Photos
import ArgumentParser
import AssetLibrarySource
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import Foundation

struct LibraryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library", abstract: "Manages a photo library.",
        discussion: "Other commands read assets by the URLs that 'import' and 'ls' print.",
        subcommands: [
            LibraryAdjustCommand.self, LibraryAlbumCommand.self, LibraryBackupCommand.self, LibraryCheckCommand.self,
            LibraryCreateCommand.self, LibraryImportCommand.self, LibraryListCommand.self,
            LibraryQuarantineCommand.self, LibraryRemoveCommand.self, LibraryThumbnailCommand.self,
        ])
}

/// Returns the identifiers of the assets that the arguments specify by identifier or URL. Throws an error before any
/// identifier is used if an argument is neither.
func assetIDs(_ arguments: [String]) throws(BlobError) -> [UUID] {
    var identifiers: [UUID] = []
    for argument in arguments {
        guard let id = UUID(uuidString: argument) ?? (try? BlobLocator(argument).assetID()) else {
            let status = FileStatus(at: argument)
            let kind = status == nil ? "not an asset" : status?.isFolder == true ? "a folder" : "a file"
            throw BlobError(
                .invalidLocator,
                "'\(printable(argument))' is \(kind): use a URL as printed by 'blob library ls', or an identifier.",
                operation: "resolve")
        }
        identifiers.append(id)
    }
    return identifiers
}

extension LibraryPlaceOptions {
    /// Opens the library that the option or the environment specifies.
    func openLibrary(for access: AssetLibrary.Access) throws(BlobError) -> AssetLibrary {
        let folder = try LibraryLocation.folder(self.library)
        do throws(BlobError) {
            return try AssetLibrary(at: folder, for: access)
        } catch {
            guard error.code == .notFound, let found = try? AssetLibrary.catalogue(at: folder) else { throw error }
            throw BlobError(
                .permissionDenied,
                "'\(found.path)' is not an asset library, so it is read-only: use 'ls', 'album ls' or the URLs of its "
                    + "assets. Create a library with 'blob library create'.", operation: "open", cause: error)
        }
    }

    /// Opens the catalogue, of any kind, that the option or the environment specifies, for reading.
    func openCatalogue() throws(BlobError) -> any AssetCatalogue {
        try AssetLibrary.catalogue(at: LibraryLocation.folder(self.library))
    }
}

/// The options of all commands for an asset library.
struct LibraryOptions: ParsableArguments {
    @OptionGroup var place: LibraryPlaceOptions
    @OptionGroup var verbosity: VerbosityOptions

    /// Returns the context of the command.
    func makeContext(_ confinement: ConfinementOptions? = nil) -> BlobContext {
        Verbosity.set(self.verbosity)
        var context = Interrupts.makeContext()
        Verbosity.observe(&context)
        context.allowsUnconfinedMedia = confinement?.allowFormat.contains(.media) == true
        context.mayBlock = true  // Commands may block the threads on which they read.
        return context
    }
}

struct LibraryBackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Writes a copy of the catalogue.",
        discussion: """
            Any tool can copy the originals and the journal, which are plain files. If the copy replaces a lost \
            catalogue, it is updated from the journal when the library is next opened for writing.

            EXAMPLES:
              blob library backup catalogue.backup
              blob library backup --library ~/photos catalogue.backup
            """)

    @Argument(help: "The file to write; it must not exist.")
    var file: String

    @OptionGroup var options: LibraryOptions

    func run() throws {
        let context = self.options.makeContext()
        let library = try self.options.place.openLibrary(for: .reading)
        try library.backUp(to: self.file, context: context)
    }
}

struct LibraryCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Compares the catalogue, the journal and the files.",
        discussion: """
            Prints one line per finding: its kind (catalogue, journal, missing, size, content, digests, orphan, \
            leftover), the asset or the file, and a description. The exit status is 65 if a problem was found and not \
            repaired.

            EXAMPLES:
              blob library check --deep
              blob library check --repair --library ~/photos
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

    @OptionGroup var options: LibraryOptions

    func run() throws {
        let context = self.options.makeContext()
        var isWrong = false
        let check = try LibraryCheck(
            of: LibraryLocation.folder(self.options.place.library), isDeep: self.deep, repairsProblems: self.repair,
            context: context
        ) { finding in
            if !finding.isRepaired, finding.kind != .digests { isWrong = true }
            let end = finding.isRepaired ? " (repaired)" : ""
            try printLine("\(finding.kind.rawValue)  \(printable(finding.subject))  \(printable(finding.detail))\(end)")
        }
        if try !check.run() {
            ProgressLine.printNotice(
                "blob: files missing from the catalogue were not searched for: the library is in use or read-only\n")
        }
        if isWrong { throw ExitCode(BlobError.Code.corrupted.exitStatus) }
    }
}

struct LibraryCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates a new, empty library.",
        discussion: """
            EXAMPLES:
              blob library create ~/photos
              BLOB_LIBRARY=~/photos blob library create
            """)

    @Argument(help: "The folder, which is created if missing (default: --library, or \(LibraryLocation.variable)).")
    var folder: String?

    @Option(help: "Use this folder (default: \(LibraryLocation.variable) in the environment).")
    var library: String?

    func validate() throws {
        guard self.folder == nil || self.library == nil else {
            throw ValidationError("Specify the folder only once.")
        }
    }

    func run() throws {
        _ = try AssetLibrary.create(at: LibraryLocation.folder(self.folder ?? self.library))
    }
}

struct LibraryRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes assets, and originals no longer in use.",
        discussion: """
            EXAMPLES:
              blob library remove assets-library://asset/asset.JPG?id=UUID
              blob library remove --library ~/photos UUID
            """)

    @Argument(help: "The URLs of the assets, or their identifiers.")
    var assets: [String]

    @OptionGroup var options: LibraryOptions

    func run() throws {
        let context = self.options.makeContext()
        let library = try self.options.place.openLibrary(for: .writing)
        for id in try assetIDs(self.assets) { try library.removeAsset(id, context: context) }
    }
}

struct LibraryThumbnailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail",
        abstract: "Writes a thumbnail of an original.",
        discussion: """
            The thumbnail is an upright JPEG in sRGB of the imported picture, without adjustments. The program \
            blob-media-helper decodes the original with libvips.

            EXAMPLES:
              blob library thumbnail UUID -o small.jpg
              blob library thumbnail --size 1024 UUID > large.jpg
            """)

    @Argument(help: "The URL of the asset, or its identifier.")
    var asset: String

    @Option(help: "Limit the width and height to this many pixels: 256 or 1024.")
    var size = 256

    @Option(name: .shortAndLong, help: "Write to this file (default: standard output).")
    var output: String?

    @OptionGroup var confinement: ConfinementOptions

    @OptionGroup var options: LibraryOptions

    func validate() throws {
        guard Thumbnail.Size(rawValue: self.size) != nil else { throw ValidationError("--size must be 256 or 1024.") }
    }

    func run() throws {
        let context = self.options.makeContext(self.confinement)
        let catalogue = try self.options.place.openCatalogue()
        // Catalogues of other programs use their own identifiers, which may be paths.
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
