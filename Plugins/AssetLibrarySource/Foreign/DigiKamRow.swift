import BlobCore
import Foundation

/// The decoder of rows of ``DigiKamCatalogue``, which keeps the roots of albums that it has met.
struct DigiKamRow {
    private var roots: [Int64: AlbumRoot] = [:]

    init() {}

    /// Returns the asset of a row.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for values that only a damaged or forged catalogue can contain.
    mutating func asset(_ row: CheckedRow) throws(BlobError) -> CataloguedAsset {
        let name: String = try row.value("name")
        let root = try self.root(row)
        let path = try root.path + row.value("relativePath", as: String.self) + "/" + name
        guard !path.utf8.contains(0), !name.utf8.contains(UInt8(ascii: "/")) else { throw row.corrupted("name") }
        let byteCount = try row.optionalValue("fileSize", as: Int64.self) ?? 0
        guard byteCount >= 0 else { throw row.corrupted("fileSize") }
        var asset = CataloguedAsset(
            id: String(try row.value("id", as: Int64.self)), path: path.singleSlashes, byteCount: byteCount)
        asset.media = MediaDescription(fileName: name)
        asset.media.setSize(
            try row.optionalValue("width", as: Int.self) ?? 0, try row.optionalValue("height", as: Int.self) ?? 0)
        let orientation = try row.optionalValue("orientation", as: Int.self)
        asset.media.orientation = orientation.flatMap { (1...8).contains($0) ? $0 : nil }
        asset.media.setCaptureDate(try row.optionalValue("creationDate") ?? "")
        // Always zero.
        asset.media.captureSubsecond = nil
        let rootStatus = try row.optionalValue("rootStatus", as: Int.self) ?? 0
        asset.isMissing = !root.isThere || rootStatus != 0
        return asset
    }

    private mutating func root(_ row: CheckedRow) throws(BlobError) -> AlbumRoot {
        let id: Int64 = try row.value("root")
        if let known = self.roots[id] { return known }
        let folder: String? = try row.optionalValue("specificPath")
        let root = AlbumRoot(identifier: try row.value("identifier"), specificPath: folder ?? "/")
        self.roots[id] = root
        return root
    }
}
