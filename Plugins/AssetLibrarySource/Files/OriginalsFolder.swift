#if Photos
import BlobCore
import Foundation

/// The open folders to which a library writes. Links in them are never followed.
final class OriginalsFolder {
    private let originals: Folder
    let incoming: Folder
    let quarantine: Folder

    /// Opens the folders.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if one of the folders is a link.
    init(_ library: LibraryFolder) throws(BlobError) {
        self.originals = try Folder(library.path).folder(named: LibraryFolder.originals)
        self.incoming = try self.originals.folder(named: LibraryFolder.incoming)
        self.quarantine = try self.originals.folder(named: LibraryFolder.quarantine)
    }

    /// Opens the folders, creating missing folders, and synchronises them, so that they survive a power failure.
    init(making library: LibraryFolder) throws(BlobError) {
        let library = try Folder(library.path)
        self.originals = try library.makeFolder(named: LibraryFolder.originals)
        self.incoming = try self.originals.makeFolder(named: LibraryFolder.incoming)
        self.quarantine = try self.originals.makeFolder(named: LibraryFolder.quarantine)
        try library.synchronise()
        try self.originals.synchronise()
    }

    /// Moves a file of ``incoming`` to the path of a new original.
    ///
    /// - Parameter storedPath: A result of ``LibraryFolder/storedPath(for:fileExtension:)``.
    func store(_ name: String, as storedPath: String) throws(BlobError) {
        try self.store(name, of: self.incoming, as: storedPath)
    }

    private func store(_ name: String, of folder: Folder, as storedPath: String) throws(BlobError) {
        let place = try self.place(storedPath) { (parent) throws(BlobError) in
            try self.originals.makeFolder(named: parent)
        }
        guard let place, try folder.moveFile(named: name, to: place.folder, as: place.name) else {
            throw BlobError(.io, "A file already exists at the path of a new original: \(storedPath).")
        }
    }

    /// Removes an original; does nothing if it does not exist, or if the path is not a path of originals.
    func remove(_ storedPath: String) throws(BlobError) {
        guard let place = try self.existingPlace(storedPath) else { return }
        try place.folder.removeFile(named: place.name)
        try place.folder.synchronise()
    }

    /// Moves an original to the quarantine, under an unused name.
    ///
    /// - Returns: False if no file has this path, or if the path is not a path of originals.
    @discardableResult
    func moveToQuarantine(_ storedPath: String) throws(BlobError) -> Bool {
        guard let place = try self.existingPlace(storedPath), place.folder.hasFile(named: place.name) else {
            return false
        }
        try self.moveToQuarantine(place.name, in: place.folder)
        return true
    }

    /// Moves a file to the quarantine, under an unused name; does nothing if the file does not exist.
    func moveToQuarantine(_ name: String, in folder: Folder) throws(BlobError) {
        guard folder.hasFile(named: name) else { return }
        var number = 1
        var newName = name
        while try !folder.moveFile(named: name, to: self.quarantine, as: newName) {
            number += 1
            newName = "\(name).\(number)"
        }
        try self.quarantine.synchronise()
        try folder.synchronise()
    }

    /// Moves a file from the quarantine to a new path of an original.
    func takeBack(_ name: String, as storedPath: String) throws(BlobError) {
        try self.store(name, of: self.quarantine, as: storedPath)
        try self.quarantine.synchronise()
    }

    /// Returns true if the quarantine of a library contains a file with this name.
    static func hasQuarantined(_ name: String, _ library: LibraryFolder) -> Bool {
        (try? OriginalsFolder(library).quarantine.hasFile(named: name)) ?? false
    }

    /// Synchronises the names of originals to the disk, so that they survive a power failure.
    ///
    /// - Parameter known: The folders that are known to survive a power failure; the folders synchronised by this call
    ///   are added. The existence of a folder is not sufficient, because another process may have created it and
    ///   crashed.
    func synchronise(_ storedPaths: some Sequence<String>, known: Locked<Set<String>>) throws(BlobError) {
        let parents = Set(storedPaths.map { $0.split(separator: "/").dropLast().last.map(String.init) ?? "" })
        for parent in parents { try self.originals.folder(named: parent).synchronise() }
        guard !known.withLock({ parents.isSubset(of: $0) }) else { return }
        try self.originals.synchronise()
        known.withLock { $0.formUnion(parents) }
    }

    /// Calls `body` with the path of each file that has the name of an original and is in the folder for that name.
    func forEachOriginal(_ body: (String) throws(BlobError) -> Void) throws(BlobError) {
        for parent in try self.originals.names() where parent.utf8.count == 2 {
            guard let folder = try? self.originals.folder(named: parent) else { continue }
            for name in try folder.names() {
                let path = "\(LibraryFolder.originals)/\(parent)/\(name)"
                if LibraryFolder.isStoredPath(path), folder.hasFile(named: name) { try body(path) }
            }
        }
    }

    private func existingPlace(_ storedPath: String) throws(BlobError) -> (folder: Folder, name: String)? {
        do {
            return try self.place(storedPath) { (parent) throws(BlobError) in
                try self.originals.folder(named: parent)
            }
        } catch  where error.code == .notFound || error.code == .unsupported {
            return nil
        }
    }

    /// Returns the folder and the name in a path of originals; nil for any other path.
    private func place(
        _ storedPath: String, _ open: (String) throws(BlobError) -> Folder
    ) throws(BlobError) -> (folder: Folder, name: String)? {
        let parts = storedPath.split(separator: "/").map(String.init)
        guard LibraryFolder.isStoredPath(storedPath), parts.count == 3 else { return nil }
        return (try open(parts[1]), parts[2])
    }
}
#endif
