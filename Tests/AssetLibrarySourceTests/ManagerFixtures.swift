#if Photos
import AssetLibrarySource
import BlobTestSupport
import Foundation
import GRDB

/// The databases and pictures that digiKam and Shotwell made.
enum ManagerFixtures {
    static let folder = fixture("Catalogues", of: "AssetLibrarySourceTests")

    /// Copies a database with the pictures beside it, and sets their paths.
    static func database(_ name: String, in folder: TemporaryFolder) throws -> String {
        for picture in ["p1.jpg", "p2.jpg", "p3.jpg"] { _ = try self.copy(picture, to: folder) }
        return try self.copy(name, to: folder)
    }

    static func execute(_ sql: String, in path: String) throws {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        try queue.write { try $0.execute(sql: sql) }
    }

    /// Copies a file, and sets the path of the photos in a database.
    static func copy(_ name: String, to folder: TemporaryFolder) throws -> String {
        let path = folder.path(name)
        try FileManager.default.copyItem(at: self.folder.appendingPathComponent(name), to: folder.url(name))
        guard name.hasSuffix(".db") else { return path }
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        let tables =
            name == "photo.db"
            ? [("PhotoTable", "filename"), ("VideoTable", "filename")] : [("AlbumRoots", "identifier")]
        try queue.write { db in
            for (table, column) in tables {
                try db.execute(
                    sql: "UPDATE \(table) SET \(column) = replace(\(column), '/tmp/photos', ?)",
                    arguments: [folder.path])
            }
        }
        return path
    }
}

extension AssetCatalogue {
    func list(in collection: String? = nil) throws -> [CataloguedAsset] {
        var all: [CataloguedAsset] = []
        try self.forEachCataloguedAsset(in: collection) { all.append($0) }
        return all
    }
}
#endif
