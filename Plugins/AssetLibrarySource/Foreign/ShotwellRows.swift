import BlobCore
import Foundation
import GRDB

/// The rows of a table of Shotwell's assets.
struct ShotwellRows {
    let table: String
    /// The beginning of identifiers.
    let prefix: String
    /// The beginning of a statement whose rows are assets outside of the trash; `t` is the table.
    let selection: String
    /// The flag of an asset whose file was not found.
    private let offline: Int64

    /// The films. The flags are those of `Video.vala`: 1 in the trash, 2 offline.
    static let films = ShotwellRows(
        table: "VideoTable", prefix: "video-",
        selection: """
            SELECT t.id, t.filename, t.filesize, t.width, t.height, t.exposure_time, t.flags, t.title,
                1 AS orientation, 1 AS original_orientation, NULL AS transformations
            FROM VideoTable AS t WHERE coalesce(t.flags, 0) & 1 = 0
            """, offline: 2)

    /// The photos. The flags are those of `Photo.vala`: 4 in the trash, 8 offline.
    ///
    /// - Parameter hasEdited: True when there is a table of files that other programs have edited.
    static func photos(hasEdited: Bool) -> ShotwellRows {
        let columns =
            hasEdited
            ? """
            coalesce(e.filepath, t.filename) AS filename, coalesce(e.filesize, t.filesize) AS filesize,
            coalesce(e.width, t.width) AS width, coalesce(e.height, t.height) AS height,
            coalesce(e.original_orientation, t.original_orientation) AS original_orientation
            """ : "t.filename, t.filesize, t.width, t.height, t.original_orientation"
        return ShotwellRows(
            table: "PhotoTable", prefix: "thumb",
            selection: """
                SELECT t.id, \(columns), t.exposure_time, t.flags, t.title, t.orientation, t.transformations
                FROM PhotoTable AS t \(hasEdited ? "LEFT JOIN BackingPhotoTable AS e ON e.id = t.editable_id" : "")
                WHERE coalesce(t.flags, 0) & 4 = 0
                """, offline: 8)
    }

    /// Returns the number of the row with an identifier; nil for what is none.
    func number(ofID id: String) -> Int64? {
        let digits = id.dropFirst(self.prefix.count)
        guard digits.count == 16, let number = Int64(digits, radix: 16), self.id(number) == id else { return nil }
        return number
    }

    private func id(_ number: Int64) -> String {
        let digits = String(number, radix: 16)
        return self.prefix + String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    }

    func asset(_ row: Row) throws(BlobError) -> CataloguedAsset {
        try self.asset(CheckedRow(row, of: self.table))
    }

    /// Returns the asset of a row.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for values that only a damaged or forged catalogue can contain.
    func asset(_ row: CheckedRow) throws(BlobError) -> CataloguedAsset {
        let path: String = try row.value("filename")
        guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw row.corrupted("filename") }
        let byteCount = try row.optionalValue("filesize", as: Int64.self) ?? 0
        guard byteCount >= 0 else { throw row.corrupted("filesize") }
        var asset = CataloguedAsset(id: self.id(try row.value("id")), path: path, byteCount: byteCount)
        asset.media = MediaDescription(fileName: asset.name ?? "")
        asset.media.setSize(
            try row.optionalValue("width", as: Int.self) ?? 0, try row.optionalValue("height", as: Int.self) ?? 0)
        let time = try row.optionalValue("exposure_time", as: Int64.self) ?? 0
        asset.media.captureDate = time == 0 ? nil : Self.localTime(time, "%04d:%02d:%02d %02d:%02d:%02d")
        asset.isMissing = try (row.optionalValue("flags", as: Int64.self) ?? 0) & self.offline != 0
        guard self.table == "PhotoTable" else {
            asset.adjustment = Adjustment.none
            return asset
        }
        let orientation = try row.optionalValue("orientation", as: Int.self) ?? 1
        asset.media.orientation = (1...8).contains(orientation) ? orientation : nil
        let text = try row.optionalValue("transformations", as: String.self) ?? ""
        let isTurned = try row.optionalValue("original_orientation", as: Int.self) ?? 1 != orientation
        asset.adjustment =
            text.isEmpty && !isTurned
            ? Adjustment.none : ShotwellAdjustment.adjustment(text, orientation: orientation, of: asset.media)
        return asset
    }

    /// Returns a time in seconds since 1970 in the time zone of this machine, in which Shotwell takes the times of
    /// cameras; nil outside of the calendar.
    static func localTime(_ seconds: Int64, _ format: String) -> String? {
        var (time, parts) = (time_t(seconds), tm())
        guard localtime_r(&time, &parts) != nil, (-1900...8099).contains(parts.tm_year) else { return nil }
        return String(
            format: format, Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour),
            Int(parts.tm_min), Int(parts.tm_sec))
    }
}
