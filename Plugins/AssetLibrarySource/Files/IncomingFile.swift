import BlobStreams
import Foundation

/// An original on its way into the library: written aside, then given its name.
///
/// Until it is named it lies in the folder of incoming files, which tells recovery to look around; from then on until
/// its row is there, a ``LibraryMarker`` does.
final class IncomingFile {
    private let folders: OriginalsFolder
    private let name: String
    private let descriptor: CInt
    private var isOpen = true
    private var place: Place

    private enum Place {
        case incoming
        /// With its path in the library.
        case stored(String)
        /// It is gone, or belongs to the library.
        case none
    }

    init(_ folders: OriginalsFolder, _ id: UUID) throws(BlobError) {
        self.folders = folders
        self.name = Self.name(for: id)
        self.descriptor = try folders.incoming.createFile(named: self.name)
        self.place = .incoming
    }

    deinit { self.discard() }

    static func name(for id: UUID) -> String { "\(id.uuidString).part" }

    private var path: String { "\(self.folders.incoming.path)/\(self.name)" }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.descriptor, named: self.path)
    }

    /// What was written, for parsers.
    func headerBytes(byteCount: Int64) -> HeaderBytes {
        HeaderBytes(byteCount: byteCount) { offset, buffer in
            var count = 0
            while count < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                let read = pread(self.descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(count))
                if read < 0, errno == EINTR { continue }
                guard read > 0 else { break }
                count += read
            }
            return count
        }
    }

    /// Makes the bytes survive a loss of power.
    func synchronise() throws(BlobError) {
        guard fsync(self.descriptor) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not synchronise \(self.path)")
        }
        self.isOpen = false
        guard Foundation.close(self.descriptor) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not close \(self.path)")
        }
    }

    /// Gives the descriptor back. Twice is fine.
    func close() {
        if self.isOpen { _ = Foundation.close(self.descriptor) }
        self.isOpen = false
    }

    /// Gives the file its name in the library.
    func move(toStored storedPath: String) throws(BlobError) {
        try self.folders.store(self.name, as: storedPath)
        self.place = .stored(storedPath)
    }

    /// The catalogue names the file now; or nobody knows what the catalogue says, and recovery will find out.
    func keep() { self.place = .none }

    /// Removes the file unless it was kept. Twice is fine.
    func discard() {
        self.close()
        // A file that cannot be removed is left for recovery to find.
        switch self.place {
        case .incoming: try? self.folders.incoming.removeFile(named: self.name)
        case .stored(let path): try? self.folders.remove(path)
        case .none: break
        }
        self.place = .none
    }
}

/// An empty file that says: somebody is, or was, in the middle of something.
struct LibraryMarker {
    private let folder: Folder
    private let name: String

    /// Makes a marker that survives a loss of power, with all that lies beside it.
    init(_ folders: OriginalsFolder) throws(BlobError) {
        self.folder = folders.incoming
        self.name = Self.name(for: UUID())
        Foundation.close(try self.folder.createFile(named: self.name))
        try self.folder.synchronise()
    }

    static func name(for id: UUID) -> String { id.uuidString }

    /// A marker that cannot be removed has recovery look around for nothing.
    func remove() { try? self.folder.removeFile(named: self.name) }
}
