#if Receiver && Photos
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

/// The assets that a user can choose from. No other file depends on the kind of catalogue.
protocol PickerCatalogue: Sendable {
    /// Returns all assets in display order. Blocks.
    func assets() throws -> [PickerAsset]

    /// Returns a small picture of an asset, as JPEG or PNG. Blocks.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if the asset has no picture.
    func thumbnail(of id: String) throws -> Data

    /// Returns a source of the bytes of an asset. The source must be repeatable and readable from any offset.
    func source(of id: String) throws -> any BlobInputStreamDataSource
}

/// An asset as the page shows it.
struct PickerAsset: Codable, Equatable, Sendable {
    /// The identifier, unique in the catalogue.
    let id: String
    let name: String
    let mediaType: String?
    /// The date of capture or of the last change in ISO 8601, without a time zone if it is unknown; empty if there is
    /// no date.
    let date: String
    /// The length in bytes before adjustments.
    let byteCount: Int64
}

/// The assets of a library, a folder, or a digiKam or Shotwell catalogue.
struct LibraryCatalogue: PickerCatalogue {
    private let catalogue: any AssetCatalogue

    init(_ catalogue: any AssetCatalogue) { self.catalogue = catalogue }

    func assets() throws -> [PickerAsset] {
        var assets: [PickerAsset] = []
        do {
            try self.catalogue.forEachCataloguedAsset(in: nil) { asset in
                guard !asset.isMissing else { return }
                assets.append(
                    PickerAsset(
                        id: asset.id, name: asset.name ?? asset.id, mediaType: asset.media.mediaType,
                        date: asset.pickerDate, byteCount: asset.byteCount))
            }
        } catch {
            // An unreadable folder hides no other folder, but any other error may hide all assets after it.
            let code = BlobError(wrapping: error).code
            guard !assets.isEmpty, code == .permissionDenied || code == .notFound else { throw error }
            FileHandle.standardError.write(Data("\(error)\n".utf8))
        }
        return assets
    }

    func thumbnail(of id: String) throws -> Data { try self.catalogue.thumbnail(of: id, .small).bytes }

    func source(of id: String) throws -> any BlobInputStreamDataSource { self.catalogue.source(for: id) }
}

extension CataloguedAsset {
    fileprivate var pickerDate: String {
        self.media.captureTime ?? self.modificationDate?.ISO8601Format() ?? ""
    }
}
#endif
