import BlobStreams
import Foundation

/// A file that arrives: hidden and called `.part` until the whole request is there.
package final class PartFile {
    /// Those that are there now, to be removed when the process is told to end.
    private static let live = Locked<Set<String>>([])

    private let folder: String
    private let name: String
    private let temporaryPath: String
    private var descriptor: CInt
    private var committedPath: String?
    private var isLive = true

    /// - Parameter name: Safe.
    package init(in folder: String, name: String) throws(BlobError) {
        self.folder = folder
        self.name = name
        let mark = String(UInt64.random(in: 0 ... .max), radix: 36)
        self.temporaryPath = "\(folder)/.\(name).\(mark).part"
        self.descriptor = open(self.temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard self.descriptor >= 0 else {
            throw BlobError(systemError: errno, doing: "Could not create a file in \(folder)")
        }
        _ = Self.live.withLock { $0.insert(self.temporaryPath) }
    }

    deinit { self.discard() }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.descriptor, named: self.name)
    }

    /// All bytes were written.
    ///
    /// - Parameter synchronizing: Waits until they are on the disk.
    func finish(synchronizing: Bool) throws(BlobError) {
        guard !synchronizing || fsync(self.descriptor) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not store \(self.name)")
        }
        let descriptor = self.descriptor
        self.descriptor = -1
        guard close(descriptor) == 0 else { throw BlobError(systemError: errno, doing: "Could not store \(self.name)") }
    }

    /// Gives the file its name, or one of `NAME-2`, `NAME-3`... that is free.
    ///
    /// - Returns: The path.
    func commit() throws(BlobError) -> String {
        let path = try FileNumbers.shared.claim("\(self.folder)/\(self.name)") { path throws(BlobError) in
            // Unlike `rename`, this never replaces a file.
            if link(self.temporaryPath, path) == 0 { return true }
            guard errno == EEXIST else { throw BlobError(systemError: errno, doing: "Could not name \(self.name)") }
            return false
        }
        self.committedPath = path
        return path
    }

    /// Removes what is not to stay: the hidden name, and the other one when the request failed after all.
    func discard(keepingCommitted: Bool = true) {
        if self.descriptor >= 0 { _ = close(self.descriptor) }
        self.descriptor = -1
        if !keepingCommitted, let committedPath { _ = unlink(committedPath) }
        guard self.isLive else { return }
        self.isLive = false
        _ = unlink(self.temporaryPath)
        _ = Self.live.withLock { $0.remove(self.temporaryPath) }
    }

    /// Removes all that have not arrived. The process's last call.
    package static func discardAll() {
        for path in Self.live.withLock({ $0 }) { _ = unlink(path) }
    }
}
