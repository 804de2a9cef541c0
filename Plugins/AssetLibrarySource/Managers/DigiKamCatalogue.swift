#if Photos
import BlobCore
import Foundation
import GRDB

/// The catalogue of digiKam, `digikam4.db`, of schema 10 and later: visible items, albums and tags.
///
/// The identifier of an asset is its row number. digiKam stores edits as separate files, which are assets here;
/// adjustments come from sidecars, as in any folder.
struct DigiKamCatalogue: AssetCatalogue {
    static let fileName = "digikam4.db"
    static let tables = ["AlbumRoots", "Albums", "Images", "ImageInformation", "Tags", "ImageTags"]
    /// The status of items that digiKam shows; other items are hidden, in the trash, or deleted.
    private static let visibleStatus = 1
    /// The name of the parent of digiKam's internal tags.
    private static let internalTag = "_Digikam_Internal_Tags_"

    private let database: ManagerDatabase

    init(at path: String) throws(BlobError) { self.database = try ManagerDatabase(at: path, tables: Self.tables) }

    var path: String { self.database.path }

    func revision() throws(BlobError) -> Int64? { try self.database.revision() }

    func cataloguedAsset(_ id: String) throws(BlobError) -> CataloguedAsset? {
        guard let number = Int64(id), String(number) == id else { return nil }
        let found = try self.database.read { db in
            let row = try Row.fetchOne(db, sql: "\(Self.selection) AND Images.id = ?", arguments: [number])
            return try row.map { row in
                let checked = CheckedRow(row, of: "Images")
                var decoder = DigiKamRow()
                return (asset: try decoder.asset(checked), album: try checked.value("album", as: Int64.self))
            }
        }
        guard let found else { return nil }
        var asset = found.asset
        asset.setFileFacts()
        guard let pair = asset.pairName else { return asset }
        asset.pairID = try self.database.read { db in
            let sql = "SELECT id FROM Images WHERE album = ? AND name = ? AND status = \(Self.visibleStatus)"
            return try Int64.fetchOne(db, sql: sql, arguments: [found.album, pair]).map { String($0) }
        }
        return asset
    }

    func forEachCataloguedAsset(in collection: String?, _ body: (CataloguedAsset) throws -> Void) throws {
        var condition = ""
        if let collection {
            let id = ManagerCollection(collection)
            guard let id, id.kind != .event,
                try self.database.hasRow(id.number, in: id.kind == .album ? "Albums" : "Tags")
            else { throw BlobError(.notFound, "There is no collection '\(collection)' in '\(self.path)'.") }
            condition =
                id.kind == .album
                ? " AND Images.album = \(id.number)"
                : " AND EXISTS (SELECT 1 FROM ImageTags WHERE imageid = Images.id AND tagid = \(id.number))"
        }
        var row = DigiKamRow()
        try self.database.forEachAsset(
            Self.selection + condition, key: "Images.id", of: "Images", { try row.asset($0) }, body)
    }

    /// Returns the albums, and the tags by their paths, without digiKam's internal tags.
    func collections() throws(BlobError) -> [AssetCollection] {
        try self.database.read { db in
            let albums = try Row.fetchAll(
                db,
                sql: """
                    SELECT Albums.id, label, relativePath FROM Albums JOIN AlbumRoots ON AlbumRoots.id = albumRoot
                    ORDER BY Albums.id
                    """)
            var found = try albums.map { row in
                let album = CheckedRow(row, of: "Albums")
                let (id, relative): (Int64, String) = (try album.value("id"), try album.value("relativePath"))
                let label = try album.optionalValue("label", as: String.self) ?? ""
                let count = try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM Images WHERE album = ? AND status = \(Self.visibleStatus)",
                    arguments: [id]
                )
                return AssetCollection(
                    id: "album/\(id)", name: relative == "/" ? label : label + relative, kind: .album, itemCount: count)
            }
            for tag in try TagTree(db, besides: Self.internalTag).paths {
                let sql = """
                    SELECT count(*) FROM ImageTags JOIN Images ON Images.id = imageid
                    WHERE tagid = ? AND status = \(Self.visibleStatus)
                    """
                let count = try Int.fetchOne(db, sql: sql, arguments: [tag.id])
                found.append(AssetCollection(id: "tag/\(tag.id)", name: tag.path, kind: .tag, itemCount: count))
            }
            return found
        }
    }

    /// The beginning of a statement whose rows are assets.
    ///
    /// The order of the joins is fixed, so that SQLite returns rows in the order of their numbers without sorting.
    private static let selection = """
        SELECT Images.id, Images.album, Images.name, fileSize, Images.modificationDate, relativePath,
            AlbumRoots.id AS root, identifier, specificPath, AlbumRoots.status AS rootStatus, width, height, orientation,
            creationDate
        FROM Images CROSS JOIN Albums ON Albums.id = Images.album
            CROSS JOIN AlbumRoots ON AlbumRoots.id = Albums.albumRoot
            LEFT JOIN ImageInformation ON ImageInformation.imageid = Images.id
        WHERE Images.status = \(visibleStatus)
        """
}

/// The tags of digiKam with their paths.
private struct TagTree {
    private(set) var paths: [(id: Int64, path: String)] = []
    /// The maximum length of a path in bytes; longer paths, as in a forged catalogue, are truncated.
    private static let pathByteLimit = 4096

    /// - Parameter name: The name of a tag that is omitted with all its descendants.
    init(_ db: Database, besides name: String) throws {
        var tags: [Int64: (parent: Int64, name: String)] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT id, pid, name FROM Tags ORDER BY id") {
            let tag = CheckedRow(row, of: "Tags")
            tags[try tag.value("id")] = (try tag.optionalValue("pid") ?? 0, try tag.value("name"))
        }
        for id in tags.keys.sorted() {
            var (path, next): ([String], Int64) = ([], id)
            var (seen, byteCount): (Set<Int64>, Int) = ([], 0)
            // In a damaged catalogue, tags may form a cycle.
            while let tag = tags[next], seen.insert(next).inserted {
                byteCount += tag.name.utf8.count
                guard byteCount <= Self.pathByteLimit else { break }
                path.append(tag.name)
                next = tag.parent
            }
            guard path.last != name else { continue }
            self.paths.append((id, path.reversed().joined(separator: "/")))
        }
    }
}

/// The decoder of rows of ``DigiKamCatalogue``, which caches the album roots that it has decoded.
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
        guard !name.utf8.contains(UInt8(ascii: "/")) else { throw row.corruptionError("name") }
        var asset = try row.asset(
            String(row.value("id", as: Int64.self)), at: path.singleSlashes, named: "name", byteCount: "fileSize")
        asset.media.setCaptureDate(try row.optionalValue("creationDate") ?? "")
        // digiKam always stores zero.
        asset.media.captureSubsecond = nil
        let rootStatus = try row.optionalValue("rootStatus", as: Int.self) ?? 0
        asset.isMissing = !root.exists || rootStatus != 0
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

/// A root of digiKam's albums: a folder on a volume.
struct AlbumRoot {
    /// The path; if the volume is not mounted, a path that cannot exist, in the folder of mounted volumes.
    let path: String
    /// False if the volume is not mounted.
    let exists: Bool

    /// - Parameters:
    ///   - identifier: The volume: `volumeid:?path=…`, `volumeid:?uuid=…` or `networkshareid:?mountpath=…`. Any other
    ///     identifier, such as the label of a disc, is treated as not mounted.
    ///   - specificPath: The path of the folder on the volume.
    init(identifier: String, specificPath: String) {
        let query = identifier.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let items = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        let value = { (name: String) -> String? in
            guard let item = items.first(where: { $0.count == 2 && $0[0] == name }) else { return nil }
            return PercentEncoding.decode(item[1].utf8).flatMap { String(validating: $0, as: UTF8.self) }
        }
        if let base = value("path") ?? value("mountpath") {
            (self.path, self.exists) = (base + specificPath, true)
        } else {
            let base = value("uuid").flatMap(MountedVolumes.path)
            (self.path, self.exists) = ((base ?? "/media/\(value("uuid") ?? "unknown")") + specificPath, base != nil)
        }
    }
}

/// The mounted volumes.
private enum MountedVolumes {
    /// Returns the mount point of the volume with a file system UUID; nil if it is not mounted.
    ///
    /// Looks up the device and its mount point; see proc(5), `/proc/self/mounts`. The result is not cached, because the
    /// user may replace a card with another card.
    static func path(uuid: String) -> String? {
        let link = { (name: String) in resolvedPath(Array("/dev/disk/by-uuid/\(name)".utf8)) }
        guard !uuid.contains("/"), let device = link(uuid) ?? link(uuid.lowercased()) else { return nil }
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // A mapped volume has several names, so resolved paths are compared.
            guard fields.count > 1, fields[0].hasPrefix("/"), resolvedPath(Array(fields[0].utf8)) == device else {
                continue
            }
            // Spaces and some other characters are escaped as octal numbers.
            return String(fields[1]).replacing(/\\(\d{3})/) { match in
                Int(match.output.1, radix: 8).flatMap(UnicodeScalar.init).map { String(Character($0)) } ?? ""
            }
        }
        return nil
    }
}
#endif
