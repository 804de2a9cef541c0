import ArgumentParser
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
        // All are parsed before any is removed, so that a mistake in the last one removes nothing.
        let identifiers = try self.assets.map { try UUID(uuidString: $0) ?? BlobLocator($0).assetID() }
        let library = try self.source.openLibrary(for: .writing)
        for id in identifiers { try library.removeAsset(id, context: context) }
    }
}
