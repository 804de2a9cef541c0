#if Photos
import BlobCore
import Foundation

/// The layout of a library, and the only code that constructs its paths.
///
///     catalog.sqlite            the catalogue, with its -wal and -shm
///     journal.jsonl             the changes from which a lost catalogue is rebuilt
///     lock                      held by importers (shared) and by recovery (exclusive)
///     originals/AA/UUID.EXT     AA is the beginning of the UUID
///     originals/.incoming       files and markers of running imports and removals
///     originals/.quarantine     files without a row, and damaged originals
///
/// Other files in these folders do not belong to the library, and are not touched.
struct LibraryFolder: Sendable {
    let path: String

    init(_ url: URL) { self.path = url.standardizedFileURL.path }

    var cataloguePath: String { "\(self.path)/\(Self.catalogue)" }
    var lockPath: String { "\(self.path)/\(Self.lock)" }

    static let catalogue = "catalog.sqlite"
    /// The suffixes of the file names of a database.
    static let databaseSuffixes = ["", "-wal", "-shm"]
    static let journal = "journal.jsonl"
    static let lock = "lock"
    static let originals = "originals"
    static let incoming = ".incoming"
    static let quarantine = ".quarantine"

    /// Returns true if a path relative to the library belongs to the layout.
    static func isPartOfLayout(_ path: String) -> Bool {
        path == self.lock || path.hasPrefix("\(self.originals)/") || path.hasPrefix(Self.catalogue)
            || path.hasPrefix(Self.journal)
    }

    /// The maximum length of an extension; a longer suffix is unlikely to be an extension.
    private static let maximumExtensionByteCount = 16
    private static let extensionBytes = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Returns the extension of `name`; nil unless it is valid in any file system and URL.
    static func fileExtension(ofName name: String) -> String? {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot != bytes.startIndex else { return nil }
        let suffix = String(name[bytes.index(after: dot)...])
        return self.isFileExtension(suffix) ? suffix : nil
    }

    static func isFileExtension(_ text: String) -> Bool {
        (1...self.maximumExtensionByteCount).contains(text.utf8.count)
            && text.utf8.allSatisfy(self.extensionBytes.contains)
    }

    /// Returns the path of a new original, relative to the library.
    static func storedPath(for id: UUID, fileExtension: String?) -> String {
        let suffix = fileExtension.map { ".\($0.lowercased())" } ?? ""
        return "\(self.originals)/\(id.uuidString.prefix(2))/\(id.uuidString)\(suffix)"
    }

    /// Returns true if ``storedPath(for:fileExtension:)`` can return this path.
    static func isStoredPath(_ path: String) -> Bool {
        guard let name = path.split(separator: "/").last, let id = UUID(uuidString: String(name.prefix(36))) else {
            return false
        }
        let suffix = name.dropFirst(36)
        let fileExtension = suffix.isEmpty ? nil : String(suffix.dropFirst())
        return fileExtension.map(LibraryFolder.isFileExtension) ?? true
            && path == self.storedPath(for: id, fileExtension: fileExtension)
    }

    /// Returns true if this is the name of a file that is being imported, or of a marker.
    static func isIncoming(_ name: String) -> Bool {
        guard let id = UUID(uuidString: String(name.prefix(36))) else { return false }
        return name == LibraryMarker.name(for: id) || name == IncomingFile.name(for: id)
    }

    /// Returns the full path of an original from its path in the catalogue, which is a `file:` locator if the original
    /// was imported by reference.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for any other path that leads out of the originals.
    func path(ofStored storedPath: String) throws(BlobError) -> String {
        if let locator = try? BlobLocator(storedPath), locator.scheme == "file", locator.selectors.isEmpty,
            let path = locator.filePath.flatMap({ String(validating: $0, as: UTF8.self) }), !path.utf8.contains(0)
        {
            return path
        }
        let parts = storedPath.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isPlain = parts.dropFirst().allSatisfy { $0.first != nil && $0.first != UInt8(ascii: ".") }
        guard parts.count > 1, parts[0].elementsEqual(Self.originals.utf8), isPlain, !storedPath.utf8.contains(0) else {
            throw BlobError(.corrupted, "The catalogue refers to an original outside the library: '\(storedPath)'.")
        }
        return "\(self.path)/\(storedPath)"
    }

    /// Returns true if the folder contains a catalogue.
    ///
    /// - Throws: Errors of `stat(2)`, except errors that prove that the catalogue does not exist.
    func exists() throws(BlobError) -> Bool {
        if FileStatus(at: self.cataloguePath) != nil { return true }
        guard errno == ENOENT || errno == ENOTDIR else {
            throw BlobError(systemError: errno, doing: "Could not get the status of \(self.cataloguePath)")
        }
        return false
    }

    /// Creates the folder of a new library, and its missing parents.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the folder contains anything except the remains of an
    ///   interrupted creation.
    func create() throws(BlobError) {
        let newPaths = try createFolder(Array(self.path.utf8))
        guard FileStatus(at: self.path)?.isFolder == true else {
            throw BlobError(
                .invalidArgument, "A library must be a folder, but '\(self.path)' is a file.", operation: "write")
        }
        for path in newPaths {
            let folder = URL(fileURLWithPath: String(decoding: path, as: UTF8.self))
            try Folder(folder.deletingLastPathComponent().path).synchronise()
        }
        let folder = try Folder(self.path)
        let names = try folder.names()
        var files = Set(["", "-wal", "-shm", "-journal"].map { Self.catalogue + $0 })
        // A journal without a catalogue is left from a lost library.
        if names.contains(Self.catalogue) { files.insert(Self.journal) }
        var stranger = names.first { !files.contains($0) && $0 != Self.originals && $0 != Self.lock }
        if stranger == nil, names.contains(Self.originals) {
            let own = try Set(folder.folder(named: Self.originals).names())
            stranger = own.subtracting([Self.incoming, Self.quarantine]).min().map { "\(Self.originals)/\($0)" }
        }
        if let stranger {
            throw BlobError(
                .invalidArgument,
                "A library can be created only in an empty folder, but '\(self.path)' contains '\(stranger)'.",
                operation: "write")
        }
    }
}

/// A lock that prevents recovery and other changes to files from running at the same time, in any process.
///
/// Uses `flock(2)`, which the system releases when a process exits.
final class LibraryLock {
    /// The time between attempts to acquire the lock; recovery takes milliseconds to seconds.
    private static let interval = Duration.milliseconds(20)

    private let file: Descriptor

    private init(_ folder: LibraryFolder) throws(BlobError) {
        let path = folder.lockPath
        self.file = try Descriptor(path, O_RDWR | O_CREAT, permissions: 0o666, doing: "Could not open \(path)")
    }

    /// Acquires the lock for adding or removing files; waits while recovery is running.
    static func shared(_ folder: LibraryFolder, _ context: BlobContext) throws(BlobError) -> LibraryLock {
        let lock = try LibraryLock(folder)
        while try !lock.take(LOCK_SH) { try context.pause(for: Self.interval) }
        return lock
    }

    /// Acquires the lock for recovery; returns nil while files are being added or removed.
    static func exclusive(_ folder: LibraryFolder) throws(BlobError) -> LibraryLock? {
        let lock = try LibraryLock(folder)
        return try lock.take(LOCK_EX) ? lock : nil
    }

    deinit { self.file.unlock() }

    private func take(_ kind: CInt) throws(BlobError) -> Bool {
        if self.file.lock(kind) { return true }
        guard errno == EWOULDBLOCK else { throw BlobError(systemError: errno, doing: "Could not lock the library") }
        return false
    }
}
#endif
