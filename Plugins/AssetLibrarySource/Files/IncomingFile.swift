#if Photos
import BlobCore
import Foundation

/// A new original during its import: written to the folder of incoming files, then moved to its place.
///
/// After a crash, recovery finds the file in the folder of incoming files. From the move until its row is committed,
/// recovery relies on a ``LibraryMarker`` instead.
final class IncomingFile {
    private let folders: OriginalsFolder
    private let name: String
    private let file: Descriptor
    private var place: Place

    private enum Place {
        case incoming
        /// In its place, at this path in the library.
        case stored(String)
        /// Removed, or owned by the library.
        case none
    }

    init(_ folders: OriginalsFolder, _ id: UUID) throws(BlobError) {
        self.folders = folders
        self.name = Self.name(for: id)
        self.file = try folders.incoming.openFile(named: self.name, Folder.new)
        self.place = .incoming
    }

    deinit { self.discard() }

    static func name(for id: UUID) -> String { "\(id.uuidString).part" }

    private var path: String { "\(self.folders.incoming.path)/\(self.name)" }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.file.number, named: self.path)
    }

    /// Opens the file again, for reading only, so that a process that receives the descriptor cannot change it.
    func openForReading() throws(BlobError) -> OriginalFile {
        try OriginalFile(self.folders.incoming.openFile(named: self.name), self.path)
    }

    /// Synchronises the bytes to the disk, so that they survive a loss of power, and closes the descriptor.
    func synchronise() throws(BlobError) {
        try self.file.synchronise(doing: "Could not synchronise \(self.path)")
        guard self.file.close() else { throw writeFailure("Could not close \(self.path)") }
    }

    /// Closes the descriptor. Further calls do nothing.
    func close() { self.file.close() }

    /// Moves the file to its place in the library.
    func move(toStored storedPath: String) throws(BlobError) {
        try self.folders.store(self.name, as: storedPath)
        self.place = .stored(storedPath)
    }

    /// Keeps the file: the catalogue names it, or may name it, which recovery determines.
    func keep() { self.place = .none }

    /// Removes the file unless it was kept. Further calls do nothing.
    func discard() {
        self.close()
        // Recovery removes a file that cannot be removed here.
        switch self.place {
        case .incoming: try? self.folders.incoming.removeFile(named: self.name)
        case .stored(let path): try? self.folders.remove(path)
        case .none: break
        }
        self.place = .none
    }
}

/// An empty file that marks a running or interrupted import or removal.
struct LibraryMarker {
    private let folder: Folder
    private let name: String

    /// Creates a marker that survives a loss of power, as do the names of the files beside it.
    init(_ folders: OriginalsFolder) throws(BlobError) {
        self.folder = folders.incoming
        self.name = Self.name(for: UUID())
        _ = try self.folder.openFile(named: self.name, Folder.new)
        try self.folder.synchronise()
    }

    static func name(for id: UUID) -> String { id.uuidString }

    /// Removes the marker. A marker that cannot be removed only causes a needless recovery.
    func remove() { try? self.folder.removeFile(named: self.name) }
}
#endif
