#if Photos
import BlobCore
import Foundation

/// A new original during its import, which is written to the folder of incoming files and then moved to its final path.
///
/// After a crash, recovery finds the file in the folder of incoming files. Between the move and the commit of its row,
/// recovery relies on a ``LibraryMarker`` instead.
final class IncomingFile {
    private let folders: OriginalsFolder
    private let name: String
    private let file: Descriptor
    private var place: Place

    private enum Place {
        case incoming
        /// The file was moved to this path in the library.
        case stored(String)
        /// The file is removed, or owned by the library.
        case none
    }

    init(_ folders: OriginalsFolder, _ id: UUID) throws(BlobError) {
        self.folders = folders
        self.name = Self.name(for: id)
        self.file = try folders.incoming.openFile(named: self.name, Folder.creationFlags)
        self.place = .incoming
    }

    deinit { self.discard() }

    static func name(for id: UUID) -> String { "\(id.uuidString).part" }

    private var path: String { "\(self.folders.incoming.path)/\(self.name)" }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.file.rawValue, named: self.path)
    }

    /// Opens the file again, for reading only, so that a process that receives the descriptor cannot change it.
    func openForReading() throws(BlobError) -> OriginalFile {
        try OriginalFile(self.folders.incoming.openFile(named: self.name), self.path)
    }

    /// Synchronises the bytes to the disk, so that they survive a power failure, and closes the descriptor.
    func synchronise() throws(BlobError) {
        try self.file.synchronise(doing: "Could not synchronise \(self.path)")
        guard self.file.close() else { throw writeFailure("Could not close \(self.path)") }
    }

    /// Closes the descriptor. Further calls do nothing.
    func close() { self.file.close() }

    /// Moves the file to its final path in the library.
    func move(toStored storedPath: String) throws(BlobError) {
        try self.folders.store(self.name, as: storedPath)
        self.place = .stored(storedPath)
    }

    /// Keeps the file, because the catalogue refers to it, or may refer to it; recovery then determines whether it
    /// does.
    func keep() { self.place = .none }

    /// Removes the file unless it was kept. Further calls do nothing.
    func discard() {
        self.close()
        // A file that cannot be removed here is left to recovery.
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

    /// Creates a marker that survives a power failure, as do the names of the files beside it.
    init(_ folders: OriginalsFolder) throws(BlobError) {
        self.folder = folders.incoming
        self.name = Self.name(for: UUID())
        _ = try self.folder.openFile(named: self.name, Folder.creationFlags)
        try self.folder.synchronise()
    }

    static func name(for id: UUID) -> String { id.uuidString }

    /// Removes the marker, if possible; a leftover marker only causes an unnecessary recovery.
    func remove() { try? self.folder.removeFile(named: self.name) }
}
#endif
