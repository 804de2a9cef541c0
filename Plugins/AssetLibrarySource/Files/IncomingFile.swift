#if Photos
import BlobCore
import Foundation

/// A new original during its import: written to the folder of incoming files, and then moved to its place.
///
/// In the folder of incoming files, it is a trace of a crash for recovery. From the move until its row is committed, a
/// ``LibraryMarker`` is that trace.
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

    /// Opens the file once more, for reading only: what another process is sent, it cannot change.
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

    /// Keeps the file, because the catalogue names it, or may name it, which recovery finds out.
    func keep() { self.place = .none }

    /// Removes the file unless it was kept. Further calls do nothing.
    func discard() {
        self.close()
        // A file that cannot be removed is left to recovery.
        switch self.place {
        case .incoming: try? self.folders.incoming.removeFile(named: self.name)
        case .stored(let path): try? self.folders.remove(path)
        case .none: break
        }
        self.place = .none
    }
}

/// An empty file that marks an import or a removal that is running, or was interrupted.
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

    /// Removes the marker. One that cannot be removed only causes a needless recovery.
    func remove() { try? self.folder.removeFile(named: self.name) }
}
#endif
