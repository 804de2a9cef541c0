#if Photos
package import BlobCore
package import Foundation
import GRDB

/// A file in the quarantine of a library.
package struct QuarantinedFile: Hashable, Sendable {
    package let name: String
    /// The length in bytes.
    package let byteCount: Int64
    /// The time of the last status change: the time at which the file was quarantined, unless it was touched later.
    package let date: Date

    /// Returns true if ``OriginalsFolder`` uses names of this form for files in the quarantine.
    static func isName(_ name: String) -> Bool {
        if LibraryFolder.databaseSuffixes.contains(where: { self.isNumbered(name, LibraryFolder.catalogue + $0) }) {
            return true
        }
        guard self.id(of: name) != nil else { return false }
        let isStored = { (name: String) in
            LibraryFolder.isStoredPath("\(LibraryFolder.originals)/\(name.prefix(2))/\(name)")
        }
        if isStored(name) { return true }
        guard let dot = name.lastIndex(of: "."), Int(name[name.index(after: dot)...]) != nil else { return false }
        return isStored(String(name[..<dot]))
    }

    private static func isNumbered(_ name: String, _ base: String) -> Bool {
        name == base || name.hasPrefix("\(base).") && Int(name.dropFirst(base.count + 1)) != nil
    }

    /// The identifier in the name of an original.
    static func id(of name: String) -> UUID? { UUID(uuidString: String(name.prefix(36))) }
}

extension AssetLibrary {
    /// Returns the quarantined files, by name. Other files in the folder do not belong to the library.
    package func quarantinedFiles() throws -> [QuarantinedFile] {
        var files: [QuarantinedFile] = []
        for name in try OriginalsFolder(self.folder).quarantine.names().sorted() where QuarantinedFile.isName(name) {
            guard let status = try? OriginalFile(self.quarantinePath(name)).snapshot else { continue }
            let date = Date(nanoseconds: status.statusChangeTime)
            files.append(QuarantinedFile(name: name, byteCount: status.byteCount, date: date))
        }
        return files
    }

    private func quarantinePath(_ name: String) -> String {
        "\(self.folder.path)/\(LibraryFolder.originals)/\(LibraryFolder.quarantine)/\(name)"
    }

    /// Makes a quarantined file an original again.
    ///
    /// If the original of the assets with the same bytes is missing or damaged, the file replaces it. Otherwise, the
    /// file becomes the original of a new asset, with the former identifier and name if the journal contains them.
    ///
    /// If the library already contains the bytes, the file is removed from the quarantine. A damaged original returns
    /// to its former path, unless another file has that path, so that its intact blocks can be read.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the file does not exist, ``BlobError/Code/unsupported`` for a
    ///   catalogue; otherwise the errors thrown by ``importAsset(from:name:duplicates:context:)``.
    package func restoreQuarantined(_ name: String, context: BlobContext = BlobContext()) throws -> Asset {
        try self.checkCanWrite()
        guard QuarantinedFile.isName(name), OriginalsFolder.hasQuarantined(name, self.folder) else {
            throw BlobError(.notFound, "There is no file '\(name)' in the quarantine.", operation: "open")
        }
        guard let formerID = QuarantinedFile.id(of: name) else {
            throw BlobError(
                .unsupported, "'\(name)' is a damaged catalogue, not an asset.", operation: "write")
        }
        let lock = try LibraryLock.shared(self.folder, context)
        return try withExtendedLifetime(lock) {
            let file = try self.quarantinedFile(name, formerID, context)
            let existing = try self.catalogue.read { db in
                try Catalogue.firstAsset(sha256: file.sha256, db)
            }
            if let existing, try self.hasOriginal(of: existing, file, context) {
                try OriginalsFolder(self.folder).quarantine.removeFile(named: name)
                return existing
            }
            if existing == nil, let asset = try self.restoreAtOldPath(name) { return asset }
            return try self.takeBack(name, file, replacing: existing?.storedPath, formerID)
        }
    }

    /// Reads a quarantined file, and looks up its former asset in the journal.
    private func quarantinedFile(_ name: String, _ id: UUID, _ context: BlobContext) throws -> ImportedFile {
        let original = try OriginalFile(self.quarantinePath(name))
        let (sha256, blocks) = try original.digests(byteCount: original.snapshot.byteCount, context)
        let former = try self.journal.addition(of: id, sha256: sha256.hexadecimal)
        return ImportedFile(
            name: former?.name, fileExtension: former?.fileExtension ?? LibraryFolder.fileExtension(ofName: name),
            byteCount: original.snapshot.byteCount, sha256: sha256, blocks: blocks,
            media: MediaDescription(original.headerBytes),
            modificationTime: former?.modifiedAt ?? original.snapshot.modificationTime)
    }

    /// Moves a damaged original back to the path from which a check removed it; returns nil if the path is unknown or
    /// taken.
    private func restoreAtOldPath(_ name: String) throws -> Asset? {
        // The name may end with a number that made it unique in the quarantine.
        let names = [name, name.lastIndex(of: ".").map { String(name[..<$0]) }].compactMap { $0 }
        let paths = names.map { "\(LibraryFolder.originals)/\($0.prefix(2))/\($0)" }
        for path in paths where LibraryFolder.isStoredPath(path) {
            let found = try self.catalogue.originals(where: "path = ? AND state = 'missing'", [path]).first
            guard let original = found, let asset = try self.catalogue.firstAsset(of: original),
                (try? OriginalFile(self.folder.path(ofStored: path))) == nil
            else { continue }
            let folders = try OriginalsFolder(self.folder)
            try folders.takeBack(name, as: path)
            try folders.synchronise([path], known: self.durableFolders)
            try self.catalogue.setState("present", ofOriginal: original.id)
            return asset
        }
        return nil
    }

    /// Moves a quarantined file to a new path, and commits its rows.
    private func takeBack(
        _ name: String, _ file: ImportedFile, replacing damagedPath: String?, _ formerID: UUID
    ) throws -> Asset {
        let folders = try OriginalsFolder(self.folder)
        // After a crash before the commit, recovery returns the file to the quarantine.
        let marker = try LibraryMarker(folders)
        let path = LibraryFolder.storedPath(for: UUID(), fileExtension: file.fileExtension)
        try folders.takeBack(name, as: path)
        try folders.synchronise([path], known: self.durableFolders)
        let asset = try self.commit { db -> (Asset?, [JournalEntry]) in
            let existing = try Catalogue.firstAsset(sha256: file.sha256, db)
            if let existing {
                try Catalogue.setOriginal(file, path: path, db)
                return (existing, [.moved(sha256: file.sha256.hexadecimal, path: path)])
            }
            let id = try Catalogue.containsID(formerID, db) ? UUID() : formerID
            try Catalogue.insertOriginal(file, path: path, db)
            try Catalogue.insertAsset(file.asset(id, path: path), db)
            let asset = try Catalogue.asset(id, db)
            return (asset, asset.map { [.added(JournalAsset($0))] } ?? [])
        }
        if let damagedPath { try folders.moveToQuarantine(damagedPath) }
        marker.remove()
        guard let asset else { throw BlobError(.internalError, "The file was restored, but its asset was not found.") }
        return asset
    }

    /// Restores an intact copy of a missing or damaged original from the quarantine; returns false if not found.
    func restoreFromQuarantine(
        _ original: StoredOriginal, _ asset: Asset, _ context: BlobContext
    ) throws -> Bool {
        for candidate in try self.quarantinedFiles() where candidate.byteCount == asset.byteCount {
            guard QuarantinedFile.id(of: candidate.name) != nil,
                let file = try? OriginalFile(self.quarantinePath(candidate.name))
            else { continue }
            let (sha256, blocks) = try file.digests(byteCount: asset.byteCount, context)
            guard sha256 == asset.sha256 else { continue }
            let found = ImportedFile(
                fileExtension: asset.fileExtension, byteCount: asset.byteCount, sha256: sha256, blocks: blocks,
                media: asset.media)
            _ = try self.takeBack(candidate.name, found, replacing: original.path, asset.id)
            return true
        }
        return false
    }

    /// Permanently removes files from the quarantine.
    ///
    /// - Parameter age: The minimum time since a file was quarantined.
    /// - Returns: The names of the removed files.
    package func emptyQuarantine(
        olderThan age: Duration = .zero, context: BlobContext = BlobContext()
    ) throws -> [String] {
        try self.checkCanWrite()
        let limit = Date(timeIntervalSinceNow: -Double(age.components.seconds))
        let folders = try OriginalsFolder(self.folder)
        var names: [String] = []
        for file in try self.quarantinedFiles() where file.date <= limit {
            try context.check()
            try folders.quarantine.removeFile(named: file.name)
            names.append(file.name)
        }
        return names
    }
}
#endif
