#if Photos
package import BlobCore
import Foundation
import GRDB

/// A file of a folder that is imported: where it is, and what is known about it beyond its bytes.
package struct ImportOrigin: Sendable {
    /// The absolute path, as bytes.
    package let path: [UInt8]
    /// True when the file stays where it is and the catalogue refers to it; false when it is copied.
    package var isReference: Bool
    /// The capture date for a file without one: `2024:05:01 12:30:59`.
    package var captureDate: String?
    /// The time zone of ``captureDate``.
    package var captureOffset: String?
    /// The place for a file without one: degrees north and east.
    package var place: (latitude: Double, longitude: Double)?

    /// The name for the asset of a file.
    package var title: String?

    /// The path of the document beside the file that tells these facts, as bytes; nil without one.
    package var documentPath: [UInt8]?

    /// True when files with its adjustments and metadata are beside it.
    package var hasSidecars = false

    private let status: FileStatus
    private let isSettled: Bool

    /// The least age of the last change of a file, with which a later change cannot have the same time: ten ticks of
    /// the clock of file systems.
    fileprivate static let settlingTime: Int64 = 100_000_000

    /// Looks at the file, following links.
    package init(path: [UInt8], isReference: Bool = false) throws(BlobError) {
        self.path = path
        self.isReference = isReference
        self.status = try FileStatus(ofFileAt: path)
        self.isSettled = self.status.statusChangeTime < Date().nanoseconds - Self.settlingTime
    }

    /// The length of the file in bytes.
    package var byteCount: Int64 { self.status.byteCount }

    /// The file if it was not touched since it was looked at, and a later change would be seen; otherwise nil.
    var ifUnchanged: ImportOrigin? {
        self.isSettled && (try? FileStatus(ofFileAt: self.path)) == self.status ? self : nil
    }

    /// Returns the path for the catalogue of a file that stays where it is, and the open file.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for a path that is not UTF-8, and ``BlobError/Code/changed`` for a file
    ///   that was touched since it was looked at.
    func reference() throws(BlobError) -> (path: String, file: OriginalFile) {
        guard let resolved = resolvedPath(self.path) else {
            throw BlobError(systemError: errno, doing: "Could not resolve the path of the file")
        }
        guard let path = String(validating: resolved, as: UTF8.self) else {
            throw BlobError(.unsupported, "A file whose path is not UTF-8 cannot be imported by reference.")
        }
        let file = try OriginalFile(path)
        guard file.snapshot == self.status else {
            throw BlobError(.changed, "The file was written to or moved while it was imported.")
        }
        return (BlobLocator(filePath: Array(path.utf8)).text, file)
    }

    func setGiven(ofOriginal sha256: Data, replaces: Bool = false, _ db: Database) throws {
        try Catalogue.setGiven(
            captureDate: self.captureDate, offset: self.captureOffset, latitude: self.place?.latitude,
            longitude: self.place?.longitude, ofOriginal: sha256, replaces: replaces, db)
    }

    /// Stores the facts that a document tells in place of those that are known, and the name.
    func replaceGiven(of asset: Asset, _ db: Database) throws {
        try self.setGiven(ofOriginal: Data(asset.sha256), replaces: true, db)
        guard let title else { return }
        try db.execute(
            sql: "UPDATE asset SET original_filename = ? WHERE uuid = ?", arguments: [title, asset.id.uuidString])
    }

    /// Stores the status of the file with its asset.
    func remember(_ asset: UUID, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO imported_file VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: self.arguments + [asset.uuidString])
    }

    fileprivate var arguments: StatementArguments {
        [
            Data(self.path), self.byteCount, self.status.modificationTime,
            self.status.statusChangeTime, Int64(bitPattern: self.status.identity.device),
            Int64(bitPattern: self.status.identity.inode),
        ]
    }
}

extension AssetLibrary {
    /// Returns the sidecars of a file that were changed after the import of its asset.
    func changedSidecars(
        of asset: Asset, _ origin: ImportOrigin
    ) throws(BlobError) -> [AdjustmentDescriptions.SidecarKind: [UInt8]] {
        // As at the first import, those of pictures alone.
        guard origin.hasSidecars, asset.media.mediaType?.hasPrefix("image/") == true else { return [:] }
        let known = try self.catalogue.adjustment(of: asset.id).descriptions.sidecars
        // Others do not undo what was set since; of two files with the same bytes, each keeps to its own.
        return try Sidecar.beside(origin.path, changedAfter: Self.importTime(of: asset)).filter {
            known[$0.key] != $0.value
        }
    }

    /// The time before which no change of a file was missed by the import of an asset, in nanoseconds since 1970.
    private static func importTime(of asset: Asset) -> Int64 {
        max(asset.importDate.nanoseconds, .min + ImportOrigin.settlingTime) - ImportOrigin.settlingTime
    }

    /// Returns what the document beside a file tells that is not known, if it was changed after the import of the asset;
    /// nil when there is nothing.
    ///
    /// Facts in the file itself are never replaced.
    ///
    /// - Parameter own: Returns what the file tells; called when its date or place may be those of a document.
    func news(
        for asset: Asset, _ origin: ImportOrigin, own: () throws -> MediaDescription
    ) throws -> ImportOrigin? {
        guard let path = origin.documentPath, let document = try? FileStatus(ofFileAt: path),
            document.statusChangeTime > Self.importTime(of: asset)
        else { return nil }
        var news = origin
        if news.title == asset.name { news.title = nil }
        // Documents have dates in UTC, and files seldom; a look at each file for each import would take long.
        let mayBeGiven = asset.media.captureDate == nil || asset.media.captureOffset == "+00:00"
        if !mayBeGiven || news.captureDate == asset.media.captureDate { news.captureDate = nil }
        let isKnown = news.place.map { $0 == asset.media.latitude && $1 == asset.media.longitude } ?? true
        if isKnown || !mayBeGiven && asset.media.latitude != nil { news.place = nil }
        if news.captureDate != nil || news.place != nil {
            let own = try own()
            if own.captureDate != nil { news.captureDate = nil }
            if own.latitude != nil { news.place = nil }
        }
        return news.title == nil && news.captureDate == nil && news.place == nil ? nil : news
    }

    /// Returns the asset of a file that was imported before and was not touched since; nil for any other.
    ///
    /// - Complexity: O(log files); the bytes of the file are not read.
    func importedAsset(_ origin: ImportOrigin) throws(BlobError) -> Asset? {
        let asset = try self.catalogue.read { db -> Asset? in
            let sql = """
                SELECT asset_uuid FROM imported_file WHERE path = ? AND byte_size = ? AND modified_at = ?
                    AND changed_at = ? AND device = ? AND inode = ?
                """
            let known = try Row.fetchOne(db.cachedStatement(sql: sql), arguments: origin.arguments)
            let id = known.flatMap { row in
                String.fromDatabaseValue(row["asset_uuid"] ?? .null).flatMap(UUID.init(uuidString:))
            }
            return try id.flatMap { try Catalogue.asset($0, db) }
        }
        guard let asset, origin.isReference || !asset.isReference else { return nil }
        return self.hasFile(of: asset) ? asset : nil
    }

    /// Returns true when a path, links resolved, is that of a file of the library; others may lie in its folder.
    package func contains(path: [UInt8]) -> Bool {
        guard let path = resolvedPath(path), let root = resolvedPath(Array(self.folder.path.utf8)),
            path.starts(with: root + [UInt8(ascii: "/")])
        else { return false }
        return LibraryFolder.isOwn(String(decoding: path[(root.count + 1)...], as: UTF8.self))
    }
}
#endif
