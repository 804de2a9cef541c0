#if Command && Photos
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
        encoder.dateEncodingStrategy = .iso8601
        let context = try self.source.makeContext()
        let catalogue = try self.source.openCatalogue()
        let output = LineOutput()
        let print = { (asset: CataloguedAsset, own: Asset?) in
            try context.check()
            if self.json {
                let row = Row(asset: asset, own: own, version: try catalogue.currentVersion(of: asset))
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
    let asset: CataloguedAsset
    /// The asset of our own catalogue; nil in another one.
    let own: Asset?
    let version: CurrentVersion

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    func encode(to encoder: any Encoder) throws {
        var row = encoder.container(keyedBy: Name.self)
        func put(_ name: String, _ value: (some Encodable)?) throws {
            try row.encodeIfPresent(value, forKey: Name(stringValue: name))
        }
        let media = self.asset.media.shown(self.version)
        let isAdjusted = self.version != .original
        try put("locator", self.asset.locator.text)
        try put("id", self.asset.id)
        try put("name", self.asset.name)
        try put("adjusted", isAdjusted)
        try put(isAdjusted ? "original_byte_count" : "byte_count", self.asset.byteCount)
        try put(isAdjusted ? "original_sha256" : "sha256", self.asset.sha256?.hexadecimal)
        if case .unrenderable(let names) = self.version { try put("unrenderable_adjustments", names) }
        try put("media_type", media.mediaType)
        try put("pixel_width", media.pixelWidth)
        try put("pixel_height", media.pixelHeight)
        try put("orientation", media.orientation)
        try put("capture_date", media.captureTime)
        try put("camera_make", media.cameraMake)
        try put("camera_model", media.cameraModel)
        try put("lens_model", media.lensModel)
        try put("latitude", media.latitude)
        try put("longitude", media.longitude)
        try put("city", media.city)
        try put("country", media.country)
        try put("duration_milliseconds", media.duration)
        try put("codec", media.codec)
        try put("live_photo_id", media.livePhotoID)
        try put("generation", self.own?.generation)
        try put("is_missing", self.asset.isMissing)
        try put("import_date", self.own?.importDate)
        try put("modification_date", self.asset.modificationDate)
        try put("pair", self.asset.pairID)
        guard self.own == nil else { return }
        try put("path", self.asset.path)
        if !self.asset.sidecarPaths.isEmpty { try put("sidecars", self.asset.sidecarPaths) }
    }
}
#endif
