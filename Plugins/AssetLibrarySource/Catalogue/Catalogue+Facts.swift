import BlobCore
import Foundation
import GRDB

extension Catalogue {
    /// Returns the assets with an identifier of a live photo.
    func liveAssets(_ livePhotoID: String) throws(BlobError) -> [UUID] {
        try self.read { db in
            let sql = """
                SELECT asset.uuid FROM asset JOIN original ON original.id = original_id
                WHERE live_photo_id = ? ORDER BY asset.id
                """
            return try String.fetchAll(db, sql: sql, arguments: [livePhotoID]).compactMap(UUID.init(uuidString:))
        }
    }

    /// The columns of facts that older versions have not.
    static let factColumns = ["lens_model", "city", "country"]

    /// The version of the facts that are stored: those of an older one are read again.
    private static let factsVersion = 3

    /// Adds the columns of facts.
    static func addFactColumns(_ db: Database) throws {
        for column in self.factColumns { try db.execute(sql: "ALTER TABLE original ADD COLUMN \(column) TEXT") }
        // NULL until a helper has read the facts.
        try db.execute(sql: "ALTER TABLE original ADD COLUMN facts_version INTEGER")
    }

    /// Stores the facts of an original unless they were read before.
    ///
    /// - Parameter isWhole: False when a helper may add to them later.
    static func setFacts(_ media: MediaDescription, isWhole: Bool, sha256: [UInt8], _ db: Database) throws {
        let values: [(String, (any DatabaseValueConvertible)?)] = [
            ("uti", media.typeIdentifier), ("media_type", media.mediaType), ("pixel_width", media.pixelWidth),
            ("pixel_height", media.pixelHeight), ("orientation", media.orientation),
            ("capture_date", media.captureDate), ("capture_offset", media.captureOffset),
            ("capture_subsecond", media.captureSubsecond), ("camera_make", media.cameraMake),
            ("camera_model", media.cameraModel), ("gps_latitude", media.latitude), ("gps_longitude", media.longitude),
            ("duration", media.duration), ("codec", media.codec), ("live_photo_id", media.livePhotoID),
            ("lens_model", media.lensModel), ("city", media.city), ("country", media.country),
            ("facts_version", isWhole ? self.factsVersion : nil),
        ]
        try db.execute(
            sql: """
                UPDATE original SET \(values.map { "\($0.0) = \(Self.value(of: $0.0))" }.joined(separator: ", "))
                WHERE sha256 = ? AND (facts_version IS NULL OR facts_version < \(self.factsVersion))
                """,
            arguments: StatementArguments(values.map(\.1) + [Data(sha256)]))
    }

    /// Returns the expression that sets a column: dates and places that Google Takeout gave stay when the file has
    /// none.
    private static func value(of column: String) -> String {
        let given = ["capture_date", "capture_offset", "gps_latitude", "gps_longitude"]
        return given.contains(column) ? "coalesce(?, \(column))" : "?"
    }

    /// Returns the originals whose facts were not read yet, after the row `row`, at most `count`.
    func originalsWithoutFacts(
        behind row: Int64, atMost count: Int
    ) throws(BlobError) -> [(row: Int64, path: String, sha256: [UInt8])] {
        try self.read { db in
            let sql = """
                SELECT id, path, sha256 FROM original WHERE id > ? AND state = 'present'
                    AND (facts_version IS NULL OR facts_version < \(Self.factsVersion)) ORDER BY id LIMIT ?
                """
            return try Row.fetchAll(db, sql: sql, arguments: [row, count]).map { row in
                let original = CheckedRow(row, of: "original")
                let sha256: Data = try original.value("sha256")
                return (row: try original.value("id"), path: try original.value("path"), sha256: Array(sha256))
            }
        }
    }
}

extension MediaDescription {
    /// Reads the facts beyond those of the first version.
    mutating func readFacts(_ original: CheckedRow) throws(BlobError) {
        self.setPlace(
            latitude: try original.optionalValue("gps_latitude"), longitude: try original.optionalValue("gps_longitude")
        )
        self.duration = try original.optionalValue("duration")
        self.codec = try original.optionalValue("codec")
        self.livePhotoID = try original.optionalValue("live_photo_id")
        self.lensModel = try original.optionalValue("lens_model")
        self.city = try original.optionalValue("city")
        self.country = try original.optionalValue("country")
    }
}
