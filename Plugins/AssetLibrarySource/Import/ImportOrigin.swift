#if Photos
package import BlobCore
import Foundation
import GRDB

/// A file of an imported folder: its path, and the facts about it that its bytes do not contain.
package struct ImportOrigin: Sendable {
    /// The absolute path, as bytes.
    package let path: [UInt8]
    /// True if the file stays in place and the catalogue refers to it; false if it is copied.
    package var isReference: Bool
    /// The capture date for a file that contains no date: `2024:05:01 12:30:59`.
    package var captureDate: String?
    /// The time zone of ``captureDate``.
    package var captureOffset: String?
    /// The location for a file that contains no location, in degrees north and east.
    package var location: (latitude: Double, longitude: Double)?

    /// The name for the asset.
    package var title: String?

    /// The path of the document beside the file that contains these facts, as bytes; nil without a document.
    package var documentPath: [UInt8]?

    /// True if the folder contains sidecars with the file's adjustments and metadata.
    package var hasSidecars = false

    private let status: FileStatus
    private let isSettled: Bool

    /// The minimum age of a file's last change, in nanoseconds, so that a later change cannot have the same time: ten
    /// ticks of the file system clock.
    fileprivate static let settlingTime: Int64 = 100_000_000

    /// Creates the origin of a file and records the file's status, following links.
    package init(path: [UInt8], isReference: Bool = false) throws(BlobError) {
        self.path = path
        self.isReference = isReference
        self.status = try FileStatus(ofFileAt: path)
        self.isSettled = self.status.statusChangeTime < Date().nanoseconds - Self.settlingTime
    }

    /// The length of the file in bytes.
    package var byteCount: Int64 { self.status.byteCount }

    /// This origin; nil if the file was touched after its status was recorded, or if a later change might not be
    /// detected.
    var unchangedOrigin: ImportOrigin? {
        self.isSettled && (try? FileStatus(ofFileAt: self.path)) == self.status ? self : nil
    }

    /// Returns the path for the catalogue of a file imported by reference, and the open file.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for a path that is not UTF-8; ``BlobError/Code/changed`` if the file
    ///   was touched after its status was recorded.
    func reference() throws(BlobError) -> (path: String, file: OriginalFile) {
        guard let resolved = resolvedPath(self.path) else {
            throw BlobError(systemError: errno, doing: "Could not resolve the path of the file")
        }
        guard let path = String(validating: resolved, as: UTF8.self) else {
            throw BlobError(.unsupported, "A file whose path is not UTF-8 cannot be imported by reference.")
        }
        let file = try OriginalFile(path)
        guard file.snapshot == self.status else {
            throw BlobError(.changed, "The file was modified or moved while it was being imported.")
        }
        return (BlobLocator(filePath: Array(path.utf8)).text, file)
    }

    func setExternalFacts(ofOriginal sha256: Data, replaces: Bool = false, _ db: Database) throws {
        try Catalogue.setExternalFacts(
            captureDate: self.captureDate, offset: self.captureOffset, latitude: self.location?.latitude,
            longitude: self.location?.longitude, ofOriginal: sha256, replaces: replaces, db)
    }

    /// Stores the name and the facts from a document, replacing the known values.
    func replaceExternalFacts(of asset: Asset, _ db: Database) throws {
        try self.setExternalFacts(ofOriginal: Data(asset.sha256), replaces: true, db)
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
        // As in the first import, only pictures have sidecars.
        guard origin.hasSidecars, asset.media.mediaType?.hasPrefix("image/") == true else { return [:] }
        let known = try self.catalogue.adjustment(of: asset.id).descriptions.sidecars
        // Unchanged sidecars must not undo later settings. If two files have the same bytes, each keeps its own
        // sidecars.
        return try Sidecar.sidecars(beside: origin.path, changedAfter: Self.importTime(of: asset)).filter {
            known[$0.key] != $0.value
        }
    }

    /// Returns a time shortly before the import of an asset, in nanoseconds since 1970.
    ///
    /// The import included every change that was made to the file, its sidecars and its document before this time.
    private static func importTime(of asset: Asset) -> Int64 {
        max(asset.importDate.nanoseconds, .min + ImportOrigin.settlingTime) - ImportOrigin.settlingTime
    }

    /// Returns the new facts in the document beside a file, if it was changed after the import of the asset; nil if
    /// there are no new facts.
    ///
    /// Facts in the file itself are never replaced.
    ///
    /// - Parameter own: Returns the facts in the file itself; called if its date or location may come from a document.
    func changedFacts(
        for asset: Asset, _ origin: ImportOrigin, own: () throws -> MediaDescription
    ) throws -> ImportOrigin? {
        guard let path = origin.documentPath, let document = try? FileStatus(ofFileAt: path),
            document.statusChangeTime > Self.importTime(of: asset)
        else { return nil }
        var changed = origin
        if changed.title == asset.name { changed.title = nil }
        // Reading every file in each import would be slow. A date in UTC may come from a document; dates in files
        // rarely are in UTC.
        let mayBeGiven = asset.media.captureDate == nil || asset.media.captureOffset == "+00:00"
        if !mayBeGiven || changed.captureDate == asset.media.captureDate { changed.captureDate = nil }
        let isKnown = changed.location.map { $0 == asset.media.latitude && $1 == asset.media.longitude } ?? true
        if isKnown || !mayBeGiven && asset.media.latitude != nil { changed.location = nil }
        if changed.captureDate != nil || changed.location != nil {
            let own = try own()
            if own.captureDate != nil { changed.captureDate = nil }
            if own.latitude != nil { changed.location = nil }
        }
        return changed.title == nil && changed.captureDate == nil && changed.location == nil ? nil : changed
    }

    /// Returns the asset of a file that was imported before and has not been touched since; nil for any other file.
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

    /// Returns true if a path, with links resolved, is a file of the library; its folder may contain other files.
    package func contains(path: [UInt8]) -> Bool {
        guard let path = resolvedPath(path), let root = resolvedPath(Array(self.folder.path.utf8)),
            path.starts(with: root + [UInt8(ascii: "/")])
        else { return false }
        return LibraryFolder.isPartOfLayout(String(decoding: path[(root.count + 1)...], as: UTF8.self))
    }
}
#endif
