import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

struct LibraryRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes assets, and the originals that no other asset shares.")

    @Argument(help: "The URLs of the assets, or their identifiers.")
    var assets: [String]

    @OptionGroup var source: SourceOptions

    func run() throws {
        let context = try self.source.makeContext()
        let identifiers = try assetIDs(self.assets)
        let library = try self.source.openLibrary(for: .writing)
        for id in identifiers { try library.removeAsset(id, context: context) }
    }
}
