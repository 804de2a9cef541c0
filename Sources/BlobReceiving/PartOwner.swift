package import BlobCore
import BlobPlatform

/// The lock by which other receivers of a folder see that the owner of its `.part` files is alive.
///
/// All receivers lock the folder, each the byte at a random offset, which is part of the names of its `.part` files.
/// The system releases a lock when its process ends, however it ends.
package enum PartOwner {
    /// The offset of the byte that this process locks.
    static let mark = Int64.random(in: 0 ..< .max)

    /// Makes the folder if it is missing, locks it, and removes the `.part` files of receivers that no longer run.
    ///
    /// The lock is held until the process ends. A file system without locks keeps all files.
    ///
    /// - Returns: The path of the folder without symbolic links.
    /// - Throws: The error of the folder, and ``BlobError/Code/invalidArgument`` for a file of this name.
    package static func claim(_ path: String) throws(BlobError) -> String {
        let folder = try self.make(path)
        // Never closed.
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(folder)") }
        // For reading, because a folder cannot be opened for writing.
        var lock = self.lock(F_RDLCK, of: self.mark)
        guard fcntl(descriptor, DescriptionLock.set, &lock) == 0 else { return folder }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard let owner = self.owner(of: name), owner != self.mark else { continue }
            var lock = self.lock(F_WRLCK, of: owner)
            guard fcntl(descriptor, DescriptionLock.get, &lock) == 0, lock.l_type == F_UNLCK else { continue }
            _ = unlink("\(folder)/\(name)")
        }
        return folder
    }

    /// Returns the name of a temporary file of this process.
    ///
    /// - Parameters:
    ///   - name: The name of the file when it is complete.
    ///   - number: A number that no other file of this process has.
    static func temporaryName(for name: String, number: Int) -> String {
        ".\(name).\(String(self.mark, radix: 36))-\(String(number, radix: 36)).part"
    }

    /// Returns the mark in a name made by ``temporaryName(for:number:)``; nil for any other name.
    static func owner(of name: String) -> Int64? {
        guard let match = name.wholeMatch(of: /\..+\.([0-9a-z]{1,13})-[0-9a-z]{1,13}\.part/) else { return nil }
        return Int64(match.output.1, radix: 36)
    }

    private static func lock(_ type: CInt, of mark: Int64) -> flock {
        var lock = flock()
        (lock.l_type, lock.l_whence) = (numericCast(type), numericCast(SEEK_SET))
        (lock.l_start, lock.l_len) = (off_t(mark), 1)
        return lock
    }

    private static func make(_ path: String) throws(BlobError) -> String {
        var status = stat()
        if stat(path, &status) != 0, errno == ENOENT {
            do {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            } catch {
                throw BlobError(wrapping: error)
            }
        }
        guard let real = realpath(path, nil) else {
            throw BlobError(systemError: errno, doing: "Could not open \(path)")
        }
        defer { free(real) }
        guard stat(real, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw BlobError(.invalidArgument, "\(path) is no folder.")
        }
        return String(cString: real)
    }
}
