import BlobCore
import Foundation
import GRDB

/// The catalogue of Shotwell, `photo.db`, of schema 16 and later: photos, films, tags and events, without the trash.
///
/// The identifier of an asset is the one that Shotwell's own lists of tags have: `thumb` or `video-`, and the number of
/// the row with 16 hexadecimal digits. The file is the one that Shotwell shows: where another program has edited a
/// photo, the edited one. Its adjustment is what Shotwell has in the catalogue, and nothing beside the file.
struct ShotwellCatalogue: AssetCatalogue {
    static let fileName = "photo.db"
    static let tables = ["PhotoTable", "VideoTable", "TagTable", "EventTable"]

    /// The number of assets in a list that are looked up by one statement.
    private static let listPageCount = 500

    private let database: ForeignDatabase
    private let photos: ShotwellRows
    private let films = ShotwellRows.films

    init(at path: String) throws(BlobError) {
        self.database = try ForeignDatabase(at: path, tables: Self.tables)
        // Made when the first photo is edited by another program.
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
        asset.look()
        guard let pair = asset.pairName else { return asset }
        // The slash before the name is a character of its own, whatever the name begins with.
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
        let id = collection.flatMap { ForeignCollectionID($0) }
        switch id?.kind {
        case nil where collection == nil:
            for rows in [self.photos, self.films] { try self.visit(rows, "", body) }
        case .event? where try self.has("EventTable", id):
            for rows in [self.photos, self.films] { try self.visit(rows, " AND t.event_id = \(id?.number ?? 0)", body) }
        case .tag? where try self.has("TagTable", id):
            let list = try self.list(ofTag: id?.number ?? 0)
            for rows in [self.photos, self.films] {
                let numbers = list.filter { $0.hasPrefix(rows.prefix) }.compactMap(rows.number).sorted()
                for start in stride(from: 0, to: numbers.count, by: Self.listPageCount) {
                    let page = numbers[start...].prefix(Self.listPageCount).map(String.init).joined(separator: ", ")
                    try self.visit(rows, " AND t.id IN (\(page))", body)
                }
            }
        default:
            throw BlobError(.notFound, "There is no such collection in '\(self.path)': \(collection ?? "").")
        }
    }

    private func has(_ table: String, _ id: ForeignCollectionID?) throws -> Bool {
        try self.database.read { db in
            try Row.fetchOne(db, sql: "SELECT 1 FROM \(table) WHERE id = ?", arguments: [id?.number]) != nil
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
        var last = Int64.min
        while true {
            let page = try self.database.read { db in
                let found = try Row.fetchCursor(
                    db, sql: "\(rows.selection)\(condition) AND t.id > ? ORDER BY t.id LIMIT ?",
                    arguments: [last, RowPage.rowLimit])
                return try RowPage(found, key: "id", of: rows.table) { try rows.asset($0) }
            }
            guard let end = page.elements.last?.row, end > last else { return }
            for (asset, _) in page.elements { try body(asset) }
            last = end
        }
    }

    /// Returns the tags by their paths, and the events, by the dates of their first assets unless they have names.
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
                    // An unknown time is 0.
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
                let date = ShotwellRows.localTime(first, "%04d-%02d-%02d")
                found.append(
                    AssetCollection(
                        id: "event/\(id)", name: name.isEmpty ? date ?? "event \(id)" : name, kind: .event,
                        itemCount: count))
            }
            return found
        }
    }
}
