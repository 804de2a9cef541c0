import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

struct LibraryListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the URLs of all assets, one per line, in the order of their import.",
        discussion: """
            Of an adjusted picture, -l shows what its URL gives: its pixel size and type, and '-' as its byte count, which \
            only rendering would tell. Its state is 'adjusted', or 'unrenderable' when reading it fails; other states are \
            'present' and 'missing'. Dates are ISO 8601, without a time zone where the picture has none. In JSON, 'original_byte_count' and 'original_sha256' are those of its original.
            """)

    @Flag(name: .short, help: "Also print byte count, pixel size, capture date, media type, state and name.")
    var long = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    /// Taken for a better word than that of the parser.
    @Argument(help: .hidden) var names: [String] = []

    @OptionGroup var source: SourceOptions

    func validate() throws {
        if let name = self.names.first {
            throw ValidationError(
                "This lists all assets, and takes no names: --library \(printable(name)) would name the library, and "
                    + "'blob library album ls \(printable(name))' lists an album.")
        }
        guard !self.long || !self.json else { throw ValidationError("-l goes without --json.") }
    }

    func run() throws {
        Verbosity.isJSON = self.json
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        let context = try self.source.makeContext()
        let catalogue = try self.source.openCatalogue()
        let output = LineOutput()
        let print = { (asset: CataloguedAsset, own: Asset?) in
            try context.check()
            if self.json {
                let row = Row(asset, own, try catalogue.currentVersion(of: asset))
                try output.print(String(decoding: encoder.encode(row), as: UTF8.self))
            } else if self.long {
                try output.print(asset.longLine(catalogue.currentVersion(of: asset)))
            } else {
                try output.print(asset.locator.text)
            }
        }
        do {
            if let library = catalogue as? AssetLibrary {
                try library.forEachAsset { try print(library.catalogued($0), $0) }
            } else {
                try catalogue.forEachCataloguedAsset(in: nil) { try print($0, nil) }
            }
        } catch {
            try output.flush()
            throw error
        }
        try output.flush()
    }
}

extension CataloguedAsset {
    /// The columns of the long form; `-` means unknown. The name is last, because it may contain anything.
    fileprivate func longLine(_ version: CurrentVersion) -> String {
        let media = self.media.shown(version)
        let size = media.pixelWidth.flatMap { width in media.pixelHeight.map { "\(width)x\($0)" } }
        let state =
            switch version {
            case _ where self.isMissing: "missing"
            case .original: "present"
            case .rendered: "adjusted"
            case .unrenderable: "unrenderable"
            }
        let columns = [
            self.locator.text, version == .original ? "\(self.byteCount)" : "-", size ?? "-",
            media.captureTime ?? "-", media.mediaType.map(printable) ?? "-", state, self.name.map(printable) ?? "-",
        ]
        return columns.joined(separator: "  ")
    }
}

extension MediaDescription {
    /// Returns the description of a version.
    fileprivate func shown(_ version: CurrentVersion) -> MediaDescription {
        guard case .rendered(let width, let height) = version else { return self }
        var shown = self
        (shown.pixelWidth, shown.pixelHeight, shown.orientation, shown.mediaType) = (width, height, 1, "image/jpeg")
        return shown
    }
}

/// The JSON object of an asset.
private struct Row: Encodable {
    let locator: String
    let id: String
    let name: String?
    /// Nil for an adjusted picture.
    let byteCount: Int64?
    let sha256: String?
    let adjusted: Bool
    let unrenderableAdjustments: [String]?
    let originalByteCount: Int64?
    let originalSha256: String?
    let mediaType: String?
    let pixelWidth: Int?
    let pixelHeight: Int?
    let orientation: Int?
    let captureDate: String?
    let cameraMake: String?
    let cameraModel: String?
    let lensModel: String?
    let latitude: Double?
    let longitude: Double?
    let city: String?
    let country: String?
    let durationMilliseconds: Int64?
    let codec: String?
    let livePhotoId: String?
    let generation: Int64?
    let isMissing: Bool
    let importDate: Date?
    let modificationDate: Date?
    /// Of other catalogues than ours.
    let path: String?
    let pair: String?
    let sidecars: [String]?

    /// - Parameter own: The asset of our own catalogue; nil in another one.
    init(_ asset: CataloguedAsset, _ own: Asset?, _ version: CurrentVersion) {
        let media = asset.media.shown(version)
        self.locator = asset.locator.text
        self.id = asset.id
        self.name = asset.name
        self.adjusted = version != .original
        self.byteCount = self.adjusted ? nil : asset.byteCount
        self.sha256 = self.adjusted ? nil : asset.sha256?.hexadecimal
        self.originalByteCount = self.adjusted ? asset.byteCount : nil
        self.originalSha256 = self.adjusted ? asset.sha256?.hexadecimal : nil
        if case .unrenderable(let names) = version {
            self.unrenderableAdjustments = names
        } else {
            self.unrenderableAdjustments = nil
        }
        self.mediaType = media.mediaType
        self.pixelWidth = media.pixelWidth
        self.pixelHeight = media.pixelHeight
        self.orientation = media.orientation
        self.captureDate = media.captureTime
        self.cameraMake = media.cameraMake
        self.cameraModel = media.cameraModel
        self.lensModel = media.lensModel
        self.latitude = media.latitude
        self.longitude = media.longitude
        self.city = media.city
        self.country = media.country
        self.durationMilliseconds = media.duration
        self.codec = media.codec
        self.livePhotoId = media.livePhotoID
        self.generation = own?.generation
        self.isMissing = asset.isMissing
        self.importDate = own?.importDate
        self.modificationDate = asset.modificationDate
        self.path = own == nil ? asset.path : nil
        self.pair = asset.pairID
        self.sidecars = own == nil && !asset.sidecarPaths.isEmpty ? asset.sidecarPaths : nil
    }
}
