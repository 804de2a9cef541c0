import ArgumentParser
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
func assetIDs(_ arguments: [String]) throws -> [UUID] {
    try arguments.map { try UUID(uuidString: $0) ?? BlobLocator($0).assetID() }
}

extension SourceOptions {
    /// Opens the library named by the options or the environment.
    func openLibrary(for access: AssetLibrary.Access) throws(BlobError) -> AssetLibrary {
        try AssetLibrary(at: LibraryLocation.folder(self.library), for: access)
    }
}
