#if Command && Photos
import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

struct LibraryListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the URLs of all assets, in the order of import.",
        discussion: """
            For an adjusted picture, -l shows the pixel size and type of the rendered version, and '-' as its byte \
            count, which is unknown before rendering. Its state is 'adjusted', or 'unrenderable' if reading it fails; \
            other states are 'present' and 'missing'. Dates are in ISO 8601 format, without a time zone if the picture \
            has none. In JSON, 'original_byte_count' and 'original_sha256' describe the original.

            EXAMPLES:
              blob library ls -l
              blob library ls --json | jq .name
            """)

    @Flag(name: .short, help: "Also print byte count, pixel size, capture date, media type, state and name.")
    var long = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    /// Parsed only to report a better error than the parser would.
    @Argument(help: .private) var names: [String] = []

    @OptionGroup var options: LibraryOptions

    func validate() throws {
        if let name = self.names.first {
            throw ValidationError(
                "'ls' lists all assets and does not accept names: use --library \(printable(name)) for a library, or "
                    + "'blob library album ls \(printable(name))' for an album.")
        }
        guard !self.long || !self.json else { throw ValidationError("-l cannot be used with --json.") }
    }

    func run() throws {
        Verbosity.isJSON = self.json
        let context = self.options.makeContext()
        let catalogue = try self.options.place.openCatalogue()
        let output = LineOutput()
        let print = { (asset: CataloguedAsset, own: Asset?) in
            try context.check()
            if self.json {
                try output.print(jsonLine(asset.fields(own, catalogue.currentVersion(of: asset))))
            } else if self.long {
                try output.print(asset.longLine(catalogue.currentVersion(of: asset)))
            } else {
                try output.print(asset.locator.text)
            }
        }
        do {
            if let library = catalogue as? AssetLibrary {
                try library.forEachAsset { try print(library.cataloguedAsset(for: $0), $0) }
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
    /// Returns the columns of the long form; `-` means unknown. The name is last, because it may contain any character.
    fileprivate func longLine(_ version: CurrentVersion) -> String {
        let media = self.media.describing(version)
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
    /// Returns the description of the media in the given version.
    fileprivate func describing(_ version: CurrentVersion) -> MediaDescription {
        guard case .rendered(let width, let height) = version else { return self }
        var shown = self
        (shown.pixelWidth, shown.pixelHeight, shown.orientation, shown.mediaType) = (width, height, 1, "image/jpeg")
        return shown
    }
}

extension CataloguedAsset {
    /// Returns the JSON object of the asset; `own` is the asset in this library's catalogue, or nil in another
    /// program's catalogue.
    fileprivate func fields(_ own: Asset?, _ version: CurrentVersion) -> JSONObject {
        let media = self.media.describing(version)
        let isAdjusted = version != .original
        let unrenderable: [String]? = if case .unrenderable(let names) = version { names } else { nil }
        return [
            "locator": self.locator.text, "id": self.id, "name": self.name, "adjusted": isAdjusted,
            isAdjusted ? "original_byte_count" : "byte_count": self.byteCount,
            isAdjusted ? "original_sha256" : "sha256": self.sha256?.hexadecimal,
            "unrenderable_adjustments": unrenderable, "media_type": media.mediaType, "pixel_width": media.pixelWidth,
            "pixel_height": media.pixelHeight, "orientation": media.orientation, "capture_date": media.captureTime,
            "camera_make": media.cameraMake, "camera_model": media.cameraModel, "lens_model": media.lensModel,
            "latitude": media.latitude, "longitude": media.longitude, "city": media.city, "country": media.country,
            "duration_milliseconds": media.duration, "codec": media.codec, "live_photo_id": media.livePhotoID,
            "generation": own?.generation, "is_missing": self.isMissing, "import_date": own?.importDate,
            "modification_date": self.modificationDate, "pair": self.pairID, "path": own == nil ? self.path : nil,
            "sidecars": own == nil && !self.sidecarPaths.isEmpty ? self.sidecarPaths : nil,
        ]
    }
}
#endif
