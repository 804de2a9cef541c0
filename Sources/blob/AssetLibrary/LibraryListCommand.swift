import ArgumentParser
import AssetLibrarySource
import BlobStandardSources
import Foundation

struct LibraryListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the URLs of all assets, one per line, in the order of their import.")

    @Flag(name: .short, help: "Also print byte count, pixel size, capture date, media type, presence and name.")
    var long = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var source: SourceOptions

    func validate() throws {
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
        let output = LineBuffer()
        let print = { (asset: CataloguedAsset, own: Asset?) in
            try context.check()
            if self.json {
                try output.print(String(decoding: encoder.encode(Row(asset, own)), as: UTF8.self))
            } else {
                try output.print(self.long ? asset.longLine : asset.locator.text)
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
    fileprivate var longLine: String {
        let size = self.media.pixelWidth.flatMap { width in self.media.pixelHeight.map { "\(width)x\($0)" } }
        let date = self.media.captureDate?.split(separator: " ").joined(separator: "T")
        let columns = [
            self.locator.text, "\(self.byteCount)", size ?? "-", date.map(printable) ?? "-",
            self.media.mediaType.map(printable) ?? "-", self.isMissing ? "missing" : "present",
            self.name.map(printable) ?? "-",
        ]
        return columns.joined(separator: "  ")
    }
}

/// The JSON object of an asset.
private struct Row: Encodable {
    let locator: String
    let id: String
    let name: String?
    let byteCount: Int64
    let sha256: String?
    let mediaType: String?
    let pixelWidth: Int?
    let pixelHeight: Int?
    let orientation: Int?
    let captureDate: String?
    let captureOffset: String?
    let captureSubsecond: String?
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
    init(_ asset: CataloguedAsset, _ own: Asset?) {
        self.locator = asset.locator.text
        self.id = asset.id
        self.name = asset.name
        self.byteCount = asset.byteCount
        self.sha256 = asset.sha256?.hexadecimal
        self.mediaType = asset.media.mediaType
        self.pixelWidth = asset.media.pixelWidth
        self.pixelHeight = asset.media.pixelHeight
        self.orientation = asset.media.orientation
        self.captureDate = asset.media.captureDate
        self.captureOffset = asset.media.captureOffset
        self.captureSubsecond = asset.media.captureSubsecond
        self.cameraMake = asset.media.cameraMake
        self.cameraModel = asset.media.cameraModel
        self.lensModel = asset.media.lensModel
        self.latitude = asset.media.latitude
        self.longitude = asset.media.longitude
        self.city = asset.media.city
        self.country = asset.media.country
        self.durationMilliseconds = asset.media.duration
        self.codec = asset.media.codec
        self.livePhotoId = asset.media.livePhotoID
        self.generation = own?.generation
        self.isMissing = asset.isMissing
        self.importDate = own?.importDate
        self.modificationDate = asset.modificationDate
        self.path = own == nil ? asset.path : nil
        self.pair = asset.pairID
        self.sidecars = own == nil && !asset.sidecarPaths.isEmpty ? asset.sidecarPaths : nil
    }
}
