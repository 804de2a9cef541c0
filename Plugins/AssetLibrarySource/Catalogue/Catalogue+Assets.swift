#if Photos
import BlobCore
import Foundation
import GRDB

/// The rows of assets, and of the originals that they share.
extension Catalogue {
    // MARK: Assets

    /// Returns the beginning of a statement whose rows are assets.
    static func selection(_ db: Database) throws -> String {
        // Catalogues of older versions lack some columns.
        let there = try Set(db.columns(in: "original").map(\.name))
        let columns = MediaColumn.all.map(\.name).filter(there.contains)
        return """
            SELECT asset.id, original.id AS original_row, asset.uuid, asset.original_filename, asset.file_extension,
                asset.generation, asset.modified_at, asset.ingested_at, original.sha256, original.byte_size,
                original.path, original.state\(columns.map { ", original.\($0)" }.joined())
            FROM asset JOIN original ON original.id = asset.original_id
            """
    }

    /// Returns the asset with an identifier, or else the item of a shared stream; nil if not found.
    func asset(_ id: UUID) throws(BlobError) -> Asset? {
        try self.read { db in try Self.asset(id, db) ?? Self.item(id, db) }
    }

    static func asset(_ id: UUID, _ db: Database) throws -> Asset? {
        let statement = try db.cachedStatement(sql: "\(self.selection(db)) WHERE asset.uuid = ?")
        return try Row.fetchOne(statement, arguments: [id.uuidString]).map(Asset.init)
    }

    /// Returns the first asset of the original with this digest; nil if not found.
    static func asset(sha256: [UInt8], _ db: Database) throws -> Asset? {
        let sql = "\(try self.selection(db)) WHERE original.sha256 = ? ORDER BY asset.id LIMIT 1"
        return try Row.fetchOne(db, sql: sql, arguments: [Data(sha256)]).map(Asset.init)
    }

    /// Returns the first asset of an original, or else its first item in a shared stream; nil if not found.
    static func firstAsset(sha256: [UInt8], _ db: Database) throws -> Asset? {
        try self.asset(sha256: sha256, db) ?? self.item(sha256: sha256, db)
    }

    /// Returns at most `count` assets after the row `row`, in order of import, and the row of the last asset.
    func assets(after row: Int64, atMost count: Int) throws(BlobError) -> (assets: [Asset], row: Int64) {
        try self.read { db in
            let sql = "\(try Self.selection(db)) WHERE asset.id > ? ORDER BY asset.id LIMIT ?"
            let rows = try Row.fetchAll(db, sql: sql, arguments: [row, count])
            let last = try rows.last.map { try CheckedRow($0, of: "asset").value("id", as: Int64.self) }
            return (try rows.map(Asset.init), last ?? row)
        }
    }

    /// Calls `body` with all assets, in order of import.
    static func forEachAsset(_ db: Database, _ body: (Asset) throws -> Void) throws {
        let rows = try Row.fetchCursor(db, sql: "\(self.selection(db)) ORDER BY asset.id")
        while let row = try rows.next() { try body(Asset(row)) }
    }

    /// Returns the assets of the originals with this Live Photo identifier.
    func liveAssets(_ livePhotoID: String) throws(BlobError) -> [UUID] {
        try self.read { db in
            let sql = """
                SELECT asset.uuid FROM asset JOIN original ON original.id = original_id
                WHERE live_photo_id = ? ORDER BY asset.id
                """
            return try String.fetchAll(db, sql: sql, arguments: [livePhotoID]).compactMap(UUID.init(uuidString:))
        }
    }

    /// Returns true if an asset or an item has this identifier, even if its row is otherwise invalid.
    static func containsID(_ id: UUID, _ db: Database) throws -> Bool {
        let sql = "SELECT 1 FROM asset WHERE uuid = ?1 UNION SELECT 1 FROM album_item WHERE uuid = ?1"
        return try Row.fetchOne(db, sql: sql, arguments: [id.uuidString]) != nil
    }

    /// Adds an asset for an original, or an item to an existing shared stream; does nothing if the original does not
    /// exist.
    static func insertAsset(_ asset: JournalAsset, _ db: Database) throws {
        if let album = asset.album { return try self.insertItem(asset, inAlbum: album, db) }
        let sha256 = Data(hexadecimal: asset.sha256.utf8) ?? Data()
        try db.execute(
            sql: """
                INSERT INTO asset (uuid, original_id, generation, original_filename, file_extension, modified_at,
                    ingested_at)
                SELECT ?, id, ?, ?, ?, ?, ? FROM original WHERE sha256 = ?
                """,
            arguments: [
                asset.id.uuidString, asset.generation, asset.name, asset.fileExtension, asset.modifiedAt,
                asset.importedAt, sha256,
            ])
        try self.setExternalFacts(
            captureDate: asset.captureDate, offset: asset.captureOffset, latitude: asset.latitude,
            longitude: asset.longitude, ofOriginal: sha256, db)
    }

    /// Removes an asset or an item of a shared stream, and its original unless another row shares it.
    ///
    /// - Returns: The path of the original if it was removed; otherwise nil.
    static func remove(_ id: UUID, _ db: Database) throws -> String? {
        let tables = ["asset", "album_item"]
        let rows = try tables.map { table in
            let sql = "SELECT id, original_id FROM \(table) WHERE uuid = ?"
            return try Row.fetchOne(db, sql: sql, arguments: [id.uuidString])
        }
        guard let index = rows.firstIndex(where: { $0 != nil }), let row = rows[index] else {
            throw Self.missingAssetError(id)
        }
        let original: Int64 = try CheckedRow(row, of: tables[index]).value("original_id")
        try db.execute(sql: "DELETE FROM \(tables[index]) WHERE uuid = ?", arguments: [id.uuidString])
        let deletion = """
            DELETE FROM original WHERE id = ? AND NOT EXISTS (SELECT 1 FROM asset WHERE original_id = original.id)
                AND NOT EXISTS (SELECT 1 FROM album_item WHERE original_id = original.id)
            """
        let orphan = try Row.fetchOne(db, sql: "\(deletion) RETURNING id, path", arguments: [original])
        return try orphan.map { try CheckedRow($0, of: "original").value("path") }
    }

    static func missingAssetError(_ id: UUID) -> BlobError {
        BlobError(
            .notFound, "There is no such asset in the library.",
            locator: BlobLocator(asset: id, fileExtension: nil).text)
    }

    // MARK: Originals

    /// Returns true if an original has this length.
    static func hasOriginal(byteCount: Int64, _ db: Database) throws -> Bool {
        try Row.fetchOne(db, sql: "SELECT 1 FROM original WHERE byte_size = ?", arguments: [byteCount]) != nil
    }

    static func hasOriginal(_ sha256: Data, _ db: Database) throws -> Bool {
        try Row.fetchOne(db, sql: "SELECT 1 FROM original WHERE sha256 = ?", arguments: [sha256]) != nil
    }

    /// Returns true if no original has this path.
    func isOrphan(_ path: String) throws(BlobError) -> Bool {
        try self.originals(where: "path = ?", [path]).isEmpty
    }

    func originals(
        where condition: String, _ arguments: StatementArguments
    ) throws(BlobError) -> [StoredOriginal] {
        try self.read { db in
            let sql = "SELECT id, path, state, sha256 FROM original WHERE \(condition)"
            return try Row.fetchAll(db, sql: sql, arguments: arguments).map { row in
                let original = CheckedRow(row, of: "original")
                return StoredOriginal(
                    id: try original.value("id"), path: try original.value("path"),
                    isMissing: try original.isMissing(),
                    sha256: Array(try original.value("sha256", as: Data.self)))
            }
        }
    }

    /// Calls `body` with the originals in the order of their rows, reading a few hundred rows at a time.
    func forEachOriginal(where condition: String = "TRUE", _ body: (StoredOriginal) throws -> Void) throws {
        var last: Int64 = 0
        let page = "id > ? AND \(condition) ORDER BY id LIMIT 200"
        while case let originals = try self.originals(where: page, [last]), let end = originals.last {
            for original in originals { try body(original) }
            last = end.id
        }
    }

    /// Returns the first asset of an original, or else its first item in a shared stream; nil if not found.
    func firstAsset(of original: StoredOriginal) throws(BlobError) -> Asset? {
        try self.read { db in try Self.firstAsset(sha256: original.sha256, db) }
    }

    static func insertOriginal(_ file: ImportedFile, path: String, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO original (sha256, block_sha256, byte_size, path, embedded_xmp) VALUES (?, ?, ?, ?, ?)",
            arguments: [
                Data(file.sha256), file.storedBlocks, file.byteCount, path, file.embeddedXMP.map { Data($0) },
            ])
        try self.setFacts(file.media, isWhole: file.hasAllFacts ?? false, sha256: file.sha256, db)
    }

    /// Replaces the file of an existing original.
    static func setOriginal(_ file: ImportedFile, path: String, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE original SET path = ?, state = 'present', byte_size = ?, block_sha256 = ? WHERE sha256 = ?",
            arguments: [path, file.byteCount, file.storedBlocks, Data(file.sha256)])
    }

    static func setPath(_ path: String, ofOriginal sha256: Data, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE original SET path = ?, state = 'present' WHERE sha256 = ?", arguments: [path, sha256])
    }

    /// Releases a path from another original, which is then missing, because its bytes are no longer at that path.
    ///
    /// - Returns: The journal entry for the change; empty if no other original has the path.
    static func releasePath(_ path: String, except sha256: [UInt8], _ db: Database) throws -> [JournalEntry] {
        // A path that no file has.
        let nowhere = LibraryFolder.storedPath(for: UUID(), fileExtension: nil)
        let row = try Row.fetchOne(
            db,
            sql: """
                UPDATE original SET path = ?, state = 'missing' WHERE path = ? AND sha256 <> ? RETURNING id, sha256
                """, arguments: [nowhere, path, Data(sha256)])
        guard let row else { return [] }
        let digest: Data = try CheckedRow(row, of: "original").value("sha256")
        return [.moved(sha256: Array(digest).hexadecimal, path: nowhere)]
    }

    func setState(_ state: String, ofOriginal id: Int64) throws(BlobError) {
        try self.write { db in
            try db.execute(sql: "UPDATE original SET state = ? WHERE id = ?", arguments: [state, id])
        }
    }

    // MARK: Blocks

    /// Returns the stored digests; nil if they are missing, or belong to another original.
    func blocks(of asset: Asset) throws(BlobError) -> BlockDigests? {
        let stored = try self.read { db in
            // In a catalogue of the first version, this column does not exist.
            let columns = try db.columns(in: "original")
            guard columns.contains(where: { $0.name == "block_sha256" }) else { return Data?.none }
            let sql = "SELECT block_sha256 FROM original WHERE sha256 = ?"
            return try Row.fetchOne(db, sql: sql, arguments: [Data(asset.sha256)]).flatMap { row in
                Data.fromDatabaseValue(row["block_sha256"] ?? .null)
            }
        }
        return stored.flatMap { BlockDigests(stored: Array($0), byteCount: asset.byteCount, sha256: asset.sha256) }
    }

    func setBlocks(_ blocks: BlockDigests, of asset: Asset) throws(BlobError) {
        try self.write { db in
            try db.execute(
                sql: "UPDATE original SET block_sha256 = ? WHERE sha256 = ?",
                arguments: [Data(blocks.serialized(sha256: asset.sha256)), Data(asset.sha256)])
        }
    }

    // MARK: Facts

    /// The version of the stored facts; older facts are read again.
    private static let factsVersion = 3

    /// The condition for originals whose facts have not been read yet.
    static let missingFactsCondition =
        "state = 'present' AND (facts_version IS NULL OR facts_version < \(factsVersion))"

    /// Stores the facts of an original unless they were read before.
    ///
    /// A date or location from a document beside the file is preserved if the file contains none.
    ///
    /// - Parameter isWhole: False if a helper may add facts later.
    static func setFacts(_ media: MediaDescription, isWhole: Bool, sha256: [UInt8], _ db: Database) throws {
        let given = ["capture_date", "capture_offset", "gps_latitude", "gps_longitude"]
        let columns = MediaColumn.all.map(\.name).map { "\($0) = \(given.contains($0) ? "coalesce(?, \($0))" : "?")" }
        try db.execute(
            sql: """
                UPDATE original SET \(columns.joined(separator: ", ")), facts_version = ?
                WHERE sha256 = ? AND (facts_version IS NULL OR facts_version < \(self.factsVersion))
                """,
            arguments: StatementArguments(
                MediaColumn.all.map { $0.value(media) } + [isWhole ? self.factsVersion : nil, Data(sha256)]))
    }

    /// Stores facts about an original that its file does not contain, either to fill gaps or to replace the known
    /// facts.
    static func setExternalFacts(
        captureDate: String?, offset: String?, latitude: Double?, longitude: Double?, ofOriginal sha256: Data,
        replaces: Bool = false, _ db: Database
    ) throws {
        if let captureDate {
            try db.execute(
                sql: """
                    UPDATE original SET capture_date = ?, capture_offset = ?
                    WHERE sha256 = ? AND (? OR capture_date IS NULL)
                    """, arguments: [captureDate, offset, sha256, replaces])
        }
        guard let latitude, let longitude else { return }
        try db.execute(
            sql: """
                UPDATE original SET gps_latitude = ?, gps_longitude = ? WHERE sha256 = ? AND (? OR gps_latitude IS NULL)
                """, arguments: [latitude, longitude, sha256, replaces])
    }
}

/// The row of an original.
struct StoredOriginal {
    let id: Int64
    let path: String
    let isMissing: Bool
    let sha256: [UInt8]
}

/// A column of an original that stores a property of ``MediaDescription``.
private struct MediaColumn: Sendable {
    let name: String
    let value: @Sendable (MediaDescription) -> (any DatabaseValueConvertible)?
    let read: @Sendable (CheckedRow, inout MediaDescription) throws(BlobError) -> Void

    init<Value: DatabaseValueConvertible & SendableMetatype>(
        _ name: String, _ property: any WritableKeyPath<MediaDescription, Value?> & Sendable
    ) {
        self.name = name
        self.value = { $0[keyPath: property] }
        self.read = { row, media throws(BlobError) in media[keyPath: property] = try row.optionalValue(name) }
    }

    static let all = [
        Self("uti", \.typeIdentifier), Self("media_type", \.mediaType), Self("pixel_width", \.pixelWidth),
        Self("pixel_height", \.pixelHeight), Self("orientation", \.orientation),
        Self("capture_date", \.captureDate), Self("capture_offset", \.captureOffset),
        Self("capture_subsecond", \.captureSubsecond), Self("camera_make", \.cameraMake),
        Self("camera_model", \.cameraModel), Self("gps_latitude", \.latitude), Self("gps_longitude", \.longitude),
        Self("duration", \.duration), Self("codec", \.codec), Self("live_photo_id", \.livePhotoID),
        Self("lens_model", \.lensModel), Self("city", \.city), Self("country", \.country),
    ]
}

/// A file that is about to become an original.
struct ImportedFile {
    var name: String?
    var fileExtension: String?
    var byteCount: Int64
    var sha256: [UInt8]
    /// The digests of its blocks; nil if the file was not read.
    var blocks: BlockDigests?
    var media: MediaDescription
    /// False if a helper may add facts later; nil if no facts were read.
    var hasAllFacts: Bool?
    /// The XMP packet in the file, empty unless it mentions adjustments; nil if the file was not searched for it.
    var embeddedXMP: [UInt8]?
    /// The sidecars with descriptions of an adjustment.
    var sidecars: [AdjustmentDescriptions.SidecarKind: [UInt8]] = [:]
    /// The modification time in nanoseconds since 1970; nil if the source did not provide it.
    var modificationTime: Int64?

    /// Returns the asset of this file at a path in the catalogue, as imported now.
    func asset(_ id: UUID, path: String) -> JournalAsset {
        JournalAsset(
            id: id, name: self.name, fileExtension: self.fileExtension, byteCount: self.byteCount,
            sha256: self.sha256.hexadecimal, path: path, generation: 1, importedAt: Date().nanoseconds,
            modifiedAt: self.modificationTime)
    }

    var storedBlocks: Data? { self.blocks.map { Data($0.serialized(sha256: self.sha256)) } }

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
        guard let id = UUID(uuidString: try asset.value("uuid")) else { throw asset.corruptionError("uuid") }
        let sha256: Data = try original.value("sha256")
        guard sha256.count == 32 else { throw original.corruptionError("sha256") }
        let byteCount: Int64 = try original.value("byte_size")
        guard byteCount >= 0 else { throw original.corruptionError("byte_size") }
        var media = MediaDescription()
        for column in MediaColumn.all { try column.read(original, &media) }
        let place = (media.latitude, media.longitude)
        (media.latitude, media.longitude) = (nil, nil)
        media.setPlace(latitude: place.0, longitude: place.1)
        let fileExtension: String? = try asset.optionalValue("file_extension")
        let modificationTime: Int64? = try asset.optionalValue("modified_at")
        self.init(
            id: id, name: try asset.optionalValue("original_filename"),
            fileExtension: fileExtension.flatMap { LibraryFolder.isFileExtension($0) ? $0 : nil }, byteCount: byteCount,
            sha256: Array(sha256), media: media, generation: try asset.value("generation"),
            isMissing: try original.isMissing(), importDate: Date(nanoseconds: try asset.value("ingested_at")),
            modificationDate: modificationTime.map { Date(nanoseconds: $0) }, storedPath: try original.value("path"))
    }
}
#endif
