#if Receiver && Photos
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

/// The assets that a person can choose from. Only this file knows where they are from.
protocol PickerCatalogue: Sendable {
    /// Returns all assets, in the order in which they are shown; blocks.
    func assets() throws -> [PickerAsset]

    /// Returns a small picture of an asset, JPEG or PNG; blocks.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` when there is none.
    func thumbnail(of id: String) throws -> Data

    /// Returns a source of the bytes of an asset, which are read again from any place.
    func source(of id: String) throws -> any BlobInputStreamDataSource
}

/// An asset, as the page shows it.
struct PickerAsset: Codable, Equatable, Sendable {
    /// The identifier, which no other asset of the catalogue has.
    let id: String
    let name: String
    let mediaType: String?
    /// The date of capture, else of the last change, else empty: ISO 8601, without a time zone if that is unknown.
    let date: String
    /// The length in bytes, before adjustments.
    let byteCount: Int64
}

/// The assets of a library, a folder, or the catalogue of digiKam or Shotwell.
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
            // A folder that cannot be read hides no other; any other error may hide all that would follow.
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
