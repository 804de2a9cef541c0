import BlobCore
import Foundation
import GRDB

extension Catalogue {
    /// The beginning of a statement whose rows are assets.
    static func selection(_ db: Database) throws -> String {
        // Catalogues of older versions lack columns.
        let columns = try db.columns(in: "original").map(\.name)
        return self.selection(self.factColumns.filter(columns.contains))
    }

    private static func selection(_ columns: [String]) -> String {
        """
        SELECT asset.id, original.id AS original_row, asset.uuid, asset.original_filename, asset.file_extension, asset.generation, asset.modified_at,
            asset.ingested_at, original.sha256, original.byte_size, original.path, original.state, original.uti,
            original.media_type, original.pixel_width, original.pixel_height, original.orientation,
            original.capture_date, original.capture_offset, original.capture_subsecond, original.camera_make,
            original.camera_model, original.gps_latitude, original.gps_longitude, original.duration, original.codec,
            original.live_photo_id\(columns.map { ", original.\($0)" }.joined())
        FROM asset JOIN original ON original.id = asset.original_id
        """
    }

    /// Returns the asset with an identifier, or else the item of a shared stream; nil when there is none.
    func asset(_ id: UUID) throws(BlobError) -> Asset? {
        try self.read { db in try Self.asset(id, db) ?? Self.item(id, db) }
    }

    static func asset(_ id: UUID, _ db: Database) throws -> Asset? {
        let statement = try db.cachedStatement(sql: "\(self.selection(db)) WHERE asset.uuid = ?")
        return try Row.fetchOne(statement, arguments: [id.uuidString]).map(Asset.init)
    }

    /// Returns the first asset of the original with this digest; nil when there is none.
    static func asset(sha256: [UInt8], _ db: Database) throws -> Asset? {
        let sql = "\(try self.selection(db)) WHERE original.sha256 = ? ORDER BY asset.id LIMIT 1"
        return try Row.fetchOne(db, sql: sql, arguments: [Data(sha256)]).map(Asset.init)
    }

    /// Returns the assets after the row `row` in the order of their import, at most `count`, and the row of the last
    /// one.
    func assets(behind row: Int64, atMost count: Int) throws(BlobError) -> (assets: [Asset], row: Int64) {
        try self.read { db in
            let sql = "\(try Self.selection(db)) WHERE asset.id > ? ORDER BY asset.id LIMIT ?"
            let rows = try Row.fetchAll(db, sql: sql, arguments: [row, count])
            let last = try rows.last.map { try CheckedRow($0, of: "asset").value("id", as: Int64.self) }
            return (try rows.map(Asset.init), last ?? row)
        }
    }

    /// Returns true when an original has this length.
    static func hasOriginal(byteCount: Int64, _ db: Database) throws -> Bool {
        try Row.fetchOne(db, sql: "SELECT 1 FROM original WHERE byte_size = ?", arguments: [byteCount]) != nil
    }

    static func insertOriginal(_ file: ImportedFile, path: String, _ db: Database) throws {
        let media = file.media
        try db.execute(
            sql: """
                INSERT INTO original (sha256, block_sha256, byte_size, path, uti, media_type, pixel_width, pixel_height,
                    orientation, capture_date, capture_offset, capture_subsecond, camera_make, camera_model, embedded_xmp)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                Data(file.sha256), file.storedBlocks, file.byteCount, path,
                media.typeIdentifier, media.mediaType, media.pixelWidth, media.pixelHeight, media.orientation,
                media.captureDate, media.captureOffset, media.captureSubsecond, media.cameraMake, media.cameraModel,
                file.embeddedXMP.map { Data($0) },
            ])
    }

    /// Replaces the file of an existing original.
    static func setOriginal(_ file: ImportedFile, path: String, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE original SET path = ?, state = 'present', byte_size = ?, block_sha256 = ? WHERE sha256 = ?",
            arguments: [
                path, file.byteCount, file.storedBlocks, Data(file.sha256),
            ])
    }

    /// Adds an asset of the original with the digest of `file`; does nothing when there is no such original.
    static func insertAsset(_ id: UUID, _ file: ImportedFile, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO asset (uuid, original_id, original_filename, file_extension, modified_at, ingested_at)
                SELECT ?, id, ?, ?, ?, ? FROM original WHERE sha256 = ?
                """,
            arguments: [
                id.uuidString, file.name, file.fileExtension, file.modificationTime, Date().nanoseconds,
                Data(file.sha256),
            ])
    }
}

/// A file that is about to become an original.
struct ImportedFile {
    var name: String?
    var fileExtension: String?
    var byteCount: Int64
    var sha256: [UInt8]
    /// The digests of its blocks; nil when the file was not read.
    var blocks: BlockDigests?
    var media: MediaDescription
    /// False when a helper may add facts later; nil when the file was not looked at for any.
    var hasAllFacts: Bool?
    /// The XMP packet in the file, empty unless it mentions adjustments; nil when it was not looked for.
    var embeddedXMP: [UInt8]?
    /// The descriptions of an adjustment beside the file.
    var sidecars: [AdjustmentDescriptions.SidecarKind: [UInt8]] = [:]
    /// The modification time in nanoseconds since 1970; nil when the source did not provide it.
    var modificationTime: Int64?

    var storedBlocks: Data? { self.blocks.map { Data($0.stored(sha256: self.sha256)) } }

    /// The length of the descriptions of an adjustment in bytes.
    var descriptionByteCount: Int { self.sidecars.values.reduce(self.embeddedXMP?.count ?? 0) { $0 + $1.count } }
}

extension Asset {
    /// Creates an asset from a row of the selection.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for values that only a damaged or forged catalogue can contain.
    init(_ row: Row) throws {
        let asset = CheckedRow(row, of: "asset")
        let original = CheckedRow(row, of: "original", key: "original_row")
        guard let id = UUID(uuidString: try asset.value("uuid")) else { throw asset.corrupted("uuid") }
        let sha256: Data = try original.value("sha256")
        guard sha256.count == 32 else { throw original.corrupted("sha256") }
        let byteCount: Int64 = try original.value("byte_size")
        guard byteCount >= 0 else { throw original.corrupted("byte_size") }
        var media = MediaDescription()
        media.mediaType = try original.optionalValue("media_type")
        media.typeIdentifier = try original.optionalValue("uti")
        media.pixelWidth = try original.optionalValue("pixel_width")
        media.pixelHeight = try original.optionalValue("pixel_height")
        media.orientation = try original.optionalValue("orientation")
        media.captureDate = try original.optionalValue("capture_date")
        media.captureOffset = try original.optionalValue("capture_offset")
        media.captureSubsecond = try original.optionalValue("capture_subsecond")
        media.cameraMake = try original.optionalValue("camera_make")
        media.cameraModel = try original.optionalValue("camera_model")
        try media.readFacts(original)
        let fileExtension: String? = try asset.optionalValue("file_extension")
        let modificationTime: Int64? = try asset.optionalValue("modified_at")
        self.init(
            id: id, name: try asset.optionalValue("original_filename"),
            fileExtension: fileExtension.flatMap { Self.isFileExtension($0) ? $0 : nil }, byteCount: byteCount,
            sha256: Array(sha256), media: media, generation: try asset.value("generation"),
            isMissing: try original.isMissing(), importDate: Date(nanoseconds: try asset.value("ingested_at")),
            modificationDate: modificationTime.map { Date(nanoseconds: $0) }, storedPath: try original.value("path"))
    }
}

extension CheckedRow {
    /// Returns true when the state of an original is `missing`.
    func isMissing() throws(BlobError) -> Bool {
        switch try self.value("state", as: String.self) {
        case "present": return false
        case "missing": return true
        default: throw self.corrupted("state")
        }
    }
}
