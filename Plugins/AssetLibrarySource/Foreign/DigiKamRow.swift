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
        asset.media.captureDate = try row.optionalValue("creationDate", as: String.self).flatMap(Self.exifDate)
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

    /// Returns `2024-05-01T12:30:59.000`, in the time of the camera, as Exif has it; nil for another text.
    private static func exifDate(_ text: String) -> String? {
        var bytes = Array(text.utf8.prefix(19))
        guard bytes.count == 19 else { return nil }
        for (place, byte) in bytes.enumerated() {
            switch place {
            case 4, 7: bytes[place] = UInt8(ascii: ":")
            case 10: bytes[place] = UInt8(ascii: " ")
            case 13, 16: guard byte == UInt8(ascii: ":") else { return nil }
            default: guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
