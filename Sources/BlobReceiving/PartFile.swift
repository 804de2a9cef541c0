package import BlobCore
import BlobPlatform

/// A file that is being received: hidden, with the suffix `.part`, until the whole request has arrived.
package final class PartFile {
    /// The paths of the current temporary files, which are removed when a signal ends the process.
    private static let live = Locked<Set<String>>([])

    private static let lastNumber = Locked(0)

    private let folder: String
    private let name: String
    private let temporaryPath: String
    private var descriptor: CInt
    private var committedPath: String?
    private var isLive = true

    /// - Parameter name: A safe file name; see ``SafeFileName``.
    package init(in folder: String, name: String) throws(BlobError) {
        self.folder = folder
        self.name = name
        let number = Self.lastNumber.withLock { number in
            number += 1
            return number
        }
        self.temporaryPath = "\(folder)/\(PartOwner.temporaryName(for: name, number: number))"
        let path = self.temporaryPath
        // Created under the lock: a signal between the file and its entry would leave the file.
        let (descriptor, failure) = Self.live.withLock { live in
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            if descriptor >= 0 { live.insert(path) }
            return (descriptor, errno)
        }
        self.descriptor = descriptor
        guard descriptor >= 0 else {
            throw BlobError(systemError: failure, doing: "Could not create a file in \(folder)")
        }
    }

    deinit { self.discard() }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.descriptor, named: self.name)
    }

    /// Closes the file after its last byte.
    ///
    /// - Parameter synchronizing: True to wait until the bytes are on the disk.
    func finish(synchronizing: Bool) throws(BlobError) {
        guard !synchronizing || fsync(self.descriptor) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not store \(self.name)")
        }
        let descriptor = self.descriptor
        self.descriptor = -1
        guard close(descriptor) == 0 else { throw BlobError(systemError: errno, doing: "Could not store \(self.name)") }
    }

    /// Gives the file its name, or an unused one of `NAME-2`, `NAME-3` and so on.
    ///
    /// - Returns: The path of the file.
    func commit() throws(BlobError) -> String {
        let path = try Self.linkFile(self.temporaryPath, in: self.folder, as: self.name)
        self.committedPath = path
        return path
    }

    /// Gives a file the name, or an unused one of `NAME-2`, `NAME-3` and so on, besides the name that it has.
    ///
    /// - Returns: The new path of the file.
    static func linkFile(_ path: String, in folder: String, as name: String) throws(BlobError) -> String {
        try FileNumbers.shared.claim("\(folder)/\(name)") { newPath throws(BlobError) in
            // Unlike `rename`, this never replaces a file.
            if link(path, newPath) == 0 { return true }
            guard errno == EEXIST else { throw BlobError(systemError: errno, doing: "Could not name \(name)") }
            return false
        }
    }

    /// Removes the temporary file, and the committed one too unless it is to be kept.
    func discard(keepingCommitted: Bool = true) {
        if self.descriptor >= 0 { _ = close(self.descriptor) }
        self.descriptor = -1
        if !keepingCommitted, let committedPath { _ = unlink(committedPath) }
        guard self.isLive else { return }
        self.isLive = false
        _ = unlink(self.temporaryPath)
        _ = Self.live.withLock { $0.remove(self.temporaryPath) }
    }

    /// Removes all files that have not arrived completely. Call it only before the process ends.
    package static func discardAll() {
        for path in Self.live.withLock({ $0 }) { _ = unlink(path) }
    }
}
