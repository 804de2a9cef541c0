import BlobStreams
import Foundation

/// An original on its way into the library: written aside, then given its name.
///
/// A marker lies beside it from before its first byte until its row is there, so that recovery has to look around only
/// when there is one.
final class IncomingFile {
    private let folder: LibraryFolder
    private let partPath: String
    private let marker: LibraryMarker
    private let descriptor: CInt
    private var isOpen = true
    /// Where the file is now; nil once it is gone or belongs to the library.
    private var path: String?

    init(_ folder: LibraryFolder, _ id: UUID) throws(BlobError) {
        self.folder = folder
        self.partPath = "\(folder.incomingPath)/\(id.uuidString).part"
        self.marker = try LibraryMarker(folder, id)
        self.descriptor = open(self.partPath, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard self.descriptor >= 0 else {
            throw BlobError(systemError: errno, doing: "Could not create \(self.partPath)")
        }
        self.path = self.partPath
    }

    deinit { self.discard() }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.descriptor, named: self.partPath)
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

    /// Makes the bytes survive a loss of power, and the marker with them.
    func synchronise() throws(BlobError) {
        guard fsync(self.descriptor) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not synchronise \(self.partPath)")
        }
        self.isOpen = false
        guard close(self.descriptor) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not close \(self.partPath)")
        }
        try LibraryFolder.synchronise(self.folder.incomingPath)
    }

    /// Gives the file its name in the library.
    func move(toStored storedPath: String) throws(BlobError) {
        let path = try self.folder.path(ofStored: storedPath)
        let parent = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
        if !FileManager.default.fileExists(atPath: parent) {
            try LibraryFolder.makeFolder(parent)
            try LibraryFolder.synchronise(self.folder.originalsPath)
        }
        guard rename(self.partPath, path) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not name the original \(path)")
        }
        self.path = path
        try LibraryFolder.synchronise(parent)
    }

    /// The catalogue names the file now.
    func keep() {
        self.path = nil
        self.marker.remove()
    }

    /// Leaves everything as it is: nobody knows what the catalogue says, and recovery will find out.
    func leaveToRecovery() { self.path = nil }

    /// Removes the file unless it was kept. Twice is fine.
    func discard() {
        if self.isOpen { _ = close(self.descriptor) }
        self.isOpen = false
        guard let path else { return }
        self.path = nil
        _ = unlink(path)
        self.marker.remove()
    }
}

/// An empty file that says: somebody is, or was, in the middle of something.
struct LibraryMarker {
    private let path: String

    init(_ folder: LibraryFolder, _ id: UUID) throws(BlobError) {
        self.path = "\(folder.incomingPath)/\(id.uuidString)"
        let descriptor = open(self.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not create \(self.path)") }
        close(descriptor)
    }

    func remove() { _ = unlink(self.path) }
}
