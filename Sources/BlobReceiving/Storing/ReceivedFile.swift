package import BlobCore
import BlobPlatform

/// A file that is being received. It is hidden, and has the suffix `.part`, until the whole request has arrived.
final class ReceivedFile {
    private static let lastNumber = Locked(0)

    private let folder: String
    private let name: String
    private let temporaryPath: String
    private let file: Descriptor
    private var committedPath: String?
    private var isDiscarded = false

    /// - Parameter name: A safe file name; see ``SafeFileName``.
    init(in folder: String, name: String) throws(BlobError) {
        self.folder = folder
        self.name = name
        let number = Self.lastNumber.withLock { number in
            number += 1
            return number
        }
        self.temporaryPath = "\(folder)/\(ReceiverLock.temporaryName(for: name, number: number))"
        self.file = try Descriptor(
            self.temporaryPath, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o644,
            doing: "Could not create a file in \(folder)")
    }

    deinit { self.discard() }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.file.rawValue, named: self.name)
    }

    /// Closes the file after its last byte has been written.
    ///
    /// - Parameter synchronizing: True to wait until the bytes are on the disk.
    func finish(synchronizing: Bool) throws(BlobError) {
        if synchronizing { try self.file.synchronise(doing: "Could not store \(self.name)") }
        guard self.file.close() else { throw writeFailure("Could not store \(self.name)") }
    }

    /// Gives the file its final name, or the first unused name of `NAME-2`, `NAME-3` and so on.
    ///
    /// - Returns: The path of the file.
    func commit() throws(BlobError) -> String {
        let path = try Self.linkFile(self.temporaryPath, in: self.folder, as: self.name)
        self.committedPath = path
        return path
    }

    /// Creates a hard link to a file with the given name, or with the first unused name of `NAME-2`, `NAME-3` and so
    /// on.
    ///
    /// - Returns: The new path of the file.
    static func linkFile(_ path: String, in folder: String, as name: String) throws(BlobError) -> String {
        try FileNumbers.claim("\(folder)/\(name)") { newPath throws(BlobError) in
            // Unlike `rename`, `link` never replaces a file.
            if link(path, newPath) == 0 { return true }
            guard errno == EEXIST else { throw BlobError(systemError: errno, doing: "Could not create \(name)") }
            return false
        }
    }

    /// Removes the temporary file, and the committed file too unless it should be kept.
    func discard(keepingCommitted: Bool = true) {
        self.file.close()
        if !keepingCommitted, let committedPath { _ = unlink(committedPath) }
        if !self.isDiscarded { _ = unlink(self.temporaryPath) }
        self.isDiscarded = true
    }
}

/// A lock that shows other receivers of a folder that the owner of its `.part` files is still running.
///
/// Each receiver locks the byte of the folder at a random offset, which is part of the names of its `.part` files. The
/// system releases the lock when the receiver's process ends for any reason.
package enum ReceiverLock {
    /// The offset of the byte that this process locks.
    private static let ownerOffset = Int64.random(in: 0 ..< .max)

    /// The folder that this process locked.
    private static let folder = Locked<String?>(nil)

    /// Creates the folder if necessary, locks it, and removes the `.part` files of receivers that are no longer
    /// running.
    ///
    /// The lock is held until the process ends. On a file system without locks, no files are removed.
    ///
    /// - Returns: The path of the folder without symbolic links.
    /// - Throws: The error of the folder; ``BlobError/Code/invalidArgument`` if the path is a file.
    package static func claim(_ path: String) throws(BlobError) -> String {
        let folder = try self.makeFolder(path)
        self.folder.withLock { $0 = folder }
        // Never closed.
        let descriptor = retryingOnInterrupt { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(folder)") }
        // Opened for reading, because a folder cannot be opened for writing.
        var lock = DescriptionLock.request(F_RDLCK, at: self.ownerOffset, count: 1)
        guard fcntl(descriptor, DescriptionLock.setCommand, &lock) == 0 else { return folder }
        self.removeParts(in: folder) { owner in
            var lock = DescriptionLock.request(F_WRLCK, at: owner, count: 1)
            return owner != self.ownerOffset && fcntl(descriptor, DescriptionLock.getCommand, &lock) == 0
                && lock.l_type == F_UNLCK
        }
        return folder
    }

    /// Removes all incomplete files of this process. Call this method only before the process ends.
    package static func discardAll() {
        if let folder = self.folder.withLock({ $0 }) { self.removeParts(in: folder) { $0 == self.ownerOffset } }
    }

    private static func removeParts(in folder: String, ofOwners isDead: (_ ownerOffset: Int64) -> Bool) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            if let owner = self.owner(of: name), isDead(owner) { _ = unlink("\(folder)/\(name)") }
        }
    }

    /// Returns the name of a temporary file of this process.
    ///
    /// - Parameters:
    ///   - name: The final name of the file.
    ///   - number: A number that no other file of this process uses.
    static func temporaryName(for name: String, number: Int) -> String {
        ".\(name).\(String(self.ownerOffset, radix: 36))-\(String(number, radix: 36)).part"
    }

    /// Returns the owner's offset in a name created by ``temporaryName(for:number:)``; nil for any other name.
    private static func owner(of name: String) -> Int64? {
        guard let match = name.wholeMatch(of: /\..+\.([0-9a-z]{1,13})-[0-9a-z]{1,13}\.part/) else { return nil }
        return Int64(match.output.1, radix: 36)
    }

    private static func makeFolder(_ path: String) throws(BlobError) -> String {
        try createFolder(Array(path.utf8))
        guard let real = realpath(path, nil) else {
            throw BlobError(systemError: errno, doing: "Could not open \(path)")
        }
        defer { free(real) }
        let folder = String(cString: real)
        guard try FileStatus(ofFileAt: Array(folder.utf8)).isFolder else {
            throw BlobError(.invalidArgument, "\(path) is not a folder.")
        }
        return folder
    }
}

/// Converts file names chosen by senders into safe ones.
package enum SafeFileName {
    /// The maximum length in bytes, which leaves space for a number and the owner's offset within the 255 bytes that
    /// file systems allow.
    static let maximumByteCount = 200

    private static let keptCharacters = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._+,=@~".utf8)

    /// Returns a safe file name for any bytes, in which every byte that is not a plain character is written as `%XX`.
    ///
    /// The name is never empty, a path, hidden, or an option. Bytes beyond the limit are dropped.
    package static func fileName(from name: some Sequence<UInt8>) -> String {
        var text = ""
        for byte in name {
            let isOddFirst = text.isEmpty && (byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-"))
            let piece = PercentEncoding.encode([byte], leaving: isOddFirst ? [] : Self.keptCharacters)
            guard text.utf8.count + piece.utf8.count <= Self.maximumByteCount else { break }
            text += piece
        }
        return text.isEmpty ? "upload" : text
    }
}

/// Finds unused file names: `NAME`, or `NAME-2`, `NAME-3` and so on if files with that name exist.
///
/// Remembers the last numbers, so that a repeated name costs no more than a new one.
enum FileNumbers {
    /// The maximum number of remembered names. Beyond it, all are discarded, and their numbers are determined again.
    private static let maximumNameCount = 100_000

    private static let nextNumbers = Locked<[String: Int]>([:])

    /// Calls `claim` with one path after another until it returns true, and returns that path.
    ///
    /// Numbers increase in the order of the calls. Gaps left by earlier runs may remain.
    ///
    /// - Parameter claim: Returns false if the file exists; otherwise creates the file and returns true.
    /// - Complexity: O(1) calls to `claim` for each name; O(log n) checks if n files with that name are not
    ///   remembered.
    static func claim(
        _ path: String, _ claim: (String) throws(BlobError) -> Bool
    ) throws(BlobError) -> String {
        var number = self.nextNumbers.withLock { $0[path] ?? 1 }
        while true {
            let candidate = self.path(path, number)
            if try claim(candidate) {
                // An unnumbered name need not be remembered, because each search begins with it.
                if number > 1 { self.remember(number + 1, of: path) }
                return candidate
            }
            number = self.freeNumber(of: path, above: number)
        }
    }

    private static func remember(_ number: Int, of path: String) {
        self.nextNumbers.withLock { next in
            if next.count >= self.maximumNameCount { next = [:] }
            next[path] = max(number, next[path] ?? 0)
        }
    }

    /// Returns an unused number above `number`, which is in use. Searches in doubling steps, then by bisection.
    private static func freeNumber(of path: String, above number: Int) -> Int {
        var (taken, step) = (number, 1)
        while self.exists(self.path(path, taken + step)) {
            taken += step
            step *= 2
        }
        var free = taken + step
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2
            if self.exists(self.path(path, middle)) { taken = middle } else { free = middle }
        }
        return free
    }

    private static func path(_ path: String, _ number: Int) -> String { number == 1 ? path : "\(path)-\(number)" }

    private static func exists(_ path: String) -> Bool { FileStatus(at: path, followingLinks: false) != nil }
}
