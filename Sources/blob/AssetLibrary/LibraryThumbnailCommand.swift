import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

struct LibraryThumbnailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail",
        abstract: "Writes a small picture of an original, which is kept in the user's caches.",
        discussion: """
            It is a JPEG of what was imported, without adjustments, upright, and in sRGB. Decoded by the program \
            blob-media-helper, with libvips.
            """)

    @Argument(help: "The URL of the asset, or its identifier.")
    var asset: String

    @Option(help: "The side in pixels of the square that it fits: 256 or 1024.")
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
        // Catalogues of others have their own identifiers, which may be paths.
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
