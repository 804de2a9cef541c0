import ArgumentParser
import AssetLibrarySource
import BlobPlatform
import BlobStreamsStandard
import Foundation

struct LibraryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library", abstract: "Keeps assets in a library: a folder of originals with a catalogue.",
        discussion: "The other commands read assets by the URLs that import and ls print.",
        subcommands: [
            LibraryAdjustCommand.self, LibraryAlbumCommand.self, LibraryBackupCommand.self, LibraryCheckCommand.self,
            LibraryCreateCommand.self, LibraryImportCommand.self, LibraryListCommand.self,
            LibraryQuarantineCommand.self, LibraryRemoveCommand.self, LibraryThumbnailCommand.self,
        ])
}

/// Returns the identifiers of assets, given as such or by URLs; throws before any is used if one is neither.
func assetIDs(_ arguments: [String]) throws(BlobError) -> [UUID] {
    var identifiers: [UUID] = []
    for argument in arguments {
        guard let id = UUID(uuidString: argument) ?? (try? BlobLocator(argument).assetID()) else {
            let type = fileType(at: Array(argument.utf8).cString, followingLinks: true)
            let kind = type == nil ? "no asset" : type == S_IFDIR ? "a folder" : "a file"
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
    /// Opens the library named by the options or the environment.
    func openLibrary(for access: AssetLibrary.Access) throws(BlobError) -> AssetLibrary {
        let folder = try LibraryLocation.folder(self.library)
        do throws(BlobError) {
            return try AssetLibrary(at: folder, for: access)
        } catch {
            guard error.code == .notFound, let found = try? AssetLibrary.catalogue(at: folder) else { throw error }
            throw BlobError(
                .permissionDenied,
                "'\(found.path)' is no asset library, and is only read: 'ls', 'album ls' and the URLs of its assets work. "
                    + "A library is made by 'blob library create'.", operation: "open", cause: error)
        }
    }

    /// Opens the catalogue named by the options or the environment, of whatever kind, for reading.
    func openCatalogue() throws(BlobError) -> any AssetCatalogue {
        try AssetLibrary.catalogue(at: LibraryLocation.folder(self.library))
    }
}
