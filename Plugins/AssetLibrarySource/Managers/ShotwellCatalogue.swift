#if Photos
import BlobCore
import BlobHelper
import Foundation
import GRDB

/// The catalogue of Shotwell, `photo.db`, of schema 16 and later: photos, videos, tags and events, without the trash.
///
/// The identifier of an asset is the same as in Shotwell's tag lists: `thumb` or `video-`, and the row number as 16
/// hexadecimal digits. Its file is the file that Shotwell shows, which is the edited file if another program has edited
/// a photo. Its adjustment comes only from Shotwell's catalogue, not from sidecars.
struct ShotwellCatalogue: AssetCatalogue {
    static let fileName = "photo.db"
    static let tables = ["PhotoTable", "VideoTable", "TagTable", "EventTable"]

    /// The number of assets in a list to look up with one statement.
    private static let listPageCount = 500

    private let database: ManagerDatabase
    private let photos: ShotwellRows
    private let films = ShotwellRows.films

    init(at path: String) throws(BlobError) {
        self.database = try ManagerDatabase(at: path, tables: Self.tables)
        // Shotwell creates this table when another program first edits a photo.
        self.photos = ShotwellRows.photos(hasEdited: try self.database.tables().contains("BackingPhotoTable"))
    }

    var path: String { self.database.path }

    func revision() throws(BlobError) -> Int64? { try self.database.revision() }

    func cataloguedAsset(_ id: String) throws(BlobError) -> CataloguedAsset? {
        guard let rows = [self.photos, self.films].first(where: { id.hasPrefix($0.prefix) }),
            let number = rows.number(ofID: id)
        else { return nil }
        let found = try self.database.read { db in
            try Row.fetchOne(db, sql: "\(rows.selection) AND t.id = ?", arguments: [number]).map { try rows.asset($0) }
        }
        guard var asset = found else { return nil }
        asset.setFileFacts()
        guard let pair = asset.pairName else { return asset }
        // Split at bytes, because a name that begins with a combining character would combine with the slash before it.
        let path = String(decoding: asset.path.utf8.dropLast(asset.name?.utf8.count ?? 0), as: UTF8.self) + pair
        for other in [self.photos, self.films] where asset.pairID == nil {
            asset.pairID = try self.database.read { db in
                let sql = "\(other.selection) AND t.filename = ?"
                return try Row.fetchOne(db, sql: sql, arguments: [path]).map { try other.asset($0).id }
            }
        }
        return asset
    }

    func forEachCataloguedAsset(in collection: String?, _ body: (CataloguedAsset) throws -> Void) throws {
        guard let collection else {
            for rows in [self.photos, self.films] { try self.visit(rows, "", body) }
            return
        }
        let id = ManagerCollection(collection)
        switch id?.kind {
        case .event? where try self.database.hasRow(id?.number ?? 0, in: "EventTable"):
            for rows in [self.photos, self.films] { try self.visit(rows, " AND t.event_id = \(id?.number ?? 0)", body) }
        case .tag? where try self.database.hasRow(id?.number ?? 0, in: "TagTable"):
            let list = try self.list(ofTag: id?.number ?? 0)
            for rows in [self.photos, self.films] {
                let numbers = list.filter { $0.hasPrefix(rows.prefix) }.compactMap(rows.number).sorted()
                for start in stride(from: 0, to: numbers.count, by: Self.listPageCount) {
                    let page = numbers[start...].prefix(Self.listPageCount).map(String.init).joined(separator: ", ")
                    try self.visit(rows, " AND t.id IN (\(page))", body)
                }
            }
        default: throw BlobError(.notFound, "There is no collection '\(collection)' in '\(self.path)'.")
        }
    }

    /// Returns the identifiers of the assets with a tag.
    private func list(ofTag number: Int64) throws(BlobError) -> [String] {
        let list = try self.database.read { db in
            let row = try Row.fetchOne(
                db, sql: "SELECT id, photo_id_list FROM TagTable WHERE id = ?", arguments: [number])
            return try row.flatMap {
                try CheckedRow($0, of: "TagTable").optionalValue("photo_id_list", as: String.self)
            }
        }
        return (list ?? "").split(separator: ",").map(String.init)
    }

    private func visit(_ rows: ShotwellRows, _ condition: String, _ body: (CataloguedAsset) throws -> Void) throws {
        try self.database.forEachAsset(
            rows.selection + condition, key: "t.id", of: rows.table, { try rows.asset($0) }, body)
    }

    /// Returns the tags by path, and the events by name, or by the date of the first asset for events without a name.
    func collections() throws(BlobError) -> [AssetCollection] {
        try self.database.read { db in
            var found: [AssetCollection] = []
            for row in try Row.fetchAll(db, sql: "SELECT id, name FROM TagTable ORDER BY id") {
                let tag = CheckedRow(row, of: "TagTable")
                let (id, name): (Int64, String) = (try tag.value("id"), try tag.value("name"))
                found.append(
                    AssetCollection(
                        id: "tag/\(id)", name: name.hasPrefix("/") ? String(name.dropFirst()) : name, kind: .tag,
                        itemCount: nil))
            }
            for row in try Row.fetchAll(db, sql: "SELECT id, name FROM EventTable ORDER BY id") {
                let event = CheckedRow(row, of: "EventTable")
                let id: Int64 = try event.value("id")
                var (count, first) = (0, Int64.max)
                for rows in [self.photos, self.films] {
                    // A time of 0 means unknown.
                    let sql = """
                        SELECT count(*) AS items, min(nullif(exposure_time, 0)) AS first
                        FROM (\(rows.selection) AND t.event_id = ?)
                        """
                    guard let row = try Row.fetchOne(db, sql: sql, arguments: [id]) else { continue }
                    let sums = CheckedRow(row, of: rows.table)
                    count += try sums.value("items", as: Int.self)
                    first = min(first, try sums.optionalValue("first") ?? .max)
                }
                let name = try event.optionalValue("name", as: String.self) ?? ""
                let date = MediaDescription.text(ofTime: first, inUTC: false).map { time in
                    String(time.prefix(10)).replacing(":", with: "-")
                }
                found.append(
                    AssetCollection(
                        id: "event/\(id)",
                        name: name.isEmpty ? date ?? "event \(id)" : name,
                        kind: .event,
                        itemCount: count))
            }
            return found
        }
    }
}

/// The rows of a table of Shotwell's assets.
struct ShotwellRows {
    let table: String
    /// The prefix of identifiers.
    let prefix: String
    /// The beginning of a statement whose rows are assets outside the trash; `t` is the table.
    let selection: String
    /// The flag of an asset whose file was not found.
    private let offlineFlag: Int64

    /// The videos. The flags are defined in `Video.vala`: 1 in the trash, 2 offline.
    static let films = ShotwellRows(
        table: "VideoTable", prefix: "video-",
        selection: """
            SELECT t.id, t.filename, t.filesize, t.width, t.height, t.exposure_time, t.flags, t.title,
                1 AS orientation, 1 AS original_orientation, NULL AS transformations
            FROM VideoTable AS t WHERE coalesce(t.flags, 0) & 1 = 0
            """, offlineFlag: 2)

    /// The photos. The flags are defined in `Photo.vala`: 4 in the trash, 8 offline.
    ///
    /// - Parameter hasEdited: True if the database has a table of files edited by other programs.
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
                """, offlineFlag: 8)
    }

    /// Returns the row number in an identifier; nil if the identifier is invalid.
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

    /// Returns the asset for a row.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for values that only a damaged or forged catalogue can contain.
    func asset(_ row: CheckedRow) throws(BlobError) -> CataloguedAsset {
        var asset = try row.asset(
            self.id(row.value("id")), at: row.value("filename"), named: "filename", byteCount: "filesize")
        let time = try row.optionalValue("exposure_time", as: Int64.self) ?? 0
        asset.media.captureDate = time == 0 ? nil : MediaDescription.text(ofTime: time, inUTC: false)
        asset.isMissing = try (row.optionalValue("flags", as: Int64.self) ?? 0) & self.offlineFlag != 0
        guard self.table == "PhotoTable" else {
            (asset.adjustment, asset.media.orientation) = (Adjustment.none, nil)
            return asset
        }
        let orientation = try row.optionalValue("orientation", as: Int.self) ?? 1
        let text = try row.optionalValue("transformations", as: String.self) ?? ""
        let isTurned = try row.optionalValue("original_orientation", as: Int.self) ?? 1 != orientation
        asset.adjustment =
            text.isEmpty && !isTurned
            ? Adjustment.none : ShotwellAdjustment.adjustment(text, orientation: orientation, of: asset.media)
        return asset
    }
}

/// The parser for adjustments in Shotwell's catalogue: a key file (GLib) with a group for each kind of adjustment.
///
/// The stored picture is first straightened on a canvas that is large enough for all of it, then cropped; then its
/// colours are changed, and finally it is turned; see `Photo.vala`. Corrections of colours and red eyes are specific to
/// Shotwell, and not renderable.
enum ShotwellAdjustment {
    private static let identifier = "org.gnome.shotwell"
    /// The value of `expansion` that leaves the range of brightness unchanged.
    private static let neutralExpansion = "{ 0, 255 }"

    static func adjustment(_ text: String, orientation: Int, of media: MediaDescription) -> Adjustment {
        guard text.utf8.count <= AdjustmentRecipe.byteLimit, let groups = self.parse(text) else {
            return .notRenderable([self.identifier])
        }
        let foreign = groups.filter { !self.isNeutral($0.key, $0.value) && !["crop", "straighten"].contains($0.key) }
        guard foreign.isEmpty else {
            return .notRenderable(
                foreign.keys.sorted().map { "\(self.identifier).\($0.filter(\.isLetter).prefix(32))" })
        }
        guard let width = media.pixelWidth, let height = media.pixelHeight else {
            return groups.isEmpty ? .none : .notRenderable([self.identifier])
        }
        var operations: [AdjustmentOperation] = []
        if let group = groups["straighten"] {
            guard let angle = group["angle"].flatMap(Double.init), abs(angle) <= 90,
                let operation = self.straightening(degrees: angle, width: width, height: height)
            else { return .notRenderable(["\(self.identifier).straighten"]) }
            if angle != 0 { operations.append(operation) }
        }
        if let group = groups["crop"] {
            let edges = ["left", "top", "right", "bottom"].compactMap {
                group[$0].flatMap { Int32($0) }.map { Int($0) }
            }
            guard edges.count == 4 else { return .notRenderable(["\(self.identifier).crop"]) }
            // The rectangle includes the last column and the last row.
            operations.append(
                .crop(
                    PictureRectangle(
                        left: edges[0], top: edges[1], width: edges[2] - edges[0] + 1, height: edges[3] - edges[1] + 1))
            )
        }
        guard (1...8).contains(orientation) else { return .notRenderable(["\(self.identifier).orientation"]) }
        operations.append(.orientation(orientation))
        return .renderable(AdjustmentRecipe(operations))
    }

    /// Returns the rotation about the centre of the picture, on a canvas just large enough for the result; nil if the
    /// canvas is too large.
    ///
    /// Half sizes are rounded down, as in `rotate_arb` of `util/image.vala`.
    private static func straightening(degrees: Double, width: Int, height: Int) -> AdjustmentOperation? {
        let angle = abs(degrees) * .pi / 180
        let size = (
            width: (Double(width) * cos(angle) + Double(height) * sin(angle)).rounded(),
            height: (Double(height) * cos(angle) + Double(width) * sin(angle)).rounded()
        )
        let edges = 1...Double(AdjustmentOperation.maximumEdgeLength)
        guard edges.contains(size.width), edges.contains(size.height) else { return nil }
        let matrix = AffineMatrix(
            degrees: degrees, about: (Double(width / 2), Double(height / 2)),
            to: (Double(Int(size.width) / 2), Double(Int(size.height) / 2)))
        return .affine(matrix, width: Int(size.width), height: Int(size.height))
    }

    /// Returns true for a group that changes nothing.
    private static func isNeutral(_ group: String, _ values: [String: String]) -> Bool {
        switch group {
        case "adjustments":
            values.allSatisfy { key, value in
                key == "expansion" ? value == self.neutralExpansion || value == "-" : Double(value) == 0
            }
        case "redeye": values["num_points"].flatMap { Int($0) } == 0
        default: false
        }
    }

    /// Returns the values by group and key; nil if the text is not a key file.
    private static func parse(_ text: String) -> [String: [String: String]]? {
        var groups: [String: [String: String]] = [:]
        var group: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line.hasPrefix("["), line.hasSuffix("]"), line.count > 2 {
                group = String(line.dropFirst().dropLast())
                groups[group ?? "", default: [:]] = groups[group ?? ""] ?? [:]
            } else if let group, let mark = line.firstIndex(of: "=") {
                let key = line[..<mark].trimmingCharacters(in: .whitespaces)
                groups[group]?[key] = line[line.index(after: mark)...].trimmingCharacters(in: .whitespaces)
            } else {
                return nil
            }
        }
        return groups
    }
}
#endif
