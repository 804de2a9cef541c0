package import BlobPlatform

/// An open file or folder, which is closed when its last owner releases it.
///
/// Reads take an offset, so that threads can share it.
package final class Descriptor: @unchecked Sendable {  // Safe: only `close` changes `rawValue`, after all other uses.
    /// The number of the descriptor; -1 once it is closed.
    package private(set) var rawValue: CInt
    private let isOwned: Bool

    /// Takes ownership of the result of a call that opens a file; a negative result is a failure, with the reason in
    /// `errno`.
    package init(
        _ number: CInt, doing act: @autoclosure () -> String, operation: String? = nil
    ) throws(BlobError) {
        guard number >= 0 else {
            var error = BlobError(systemError: errno, doing: act())
            error.operation = operation
            throw error
        }
        (self.rawValue, self.isOwned) = (number, true)
    }

    /// Opens a file, and retries after an interruption; child processes do not inherit the descriptor.
    ///
    /// - Parameters:
    ///   - permissions: The permissions of a new file, before the file mode creation mask is applied.
    ///   - folder: The descriptor of the folder in which a relative path is looked up.
    ///   - act: The beginning of the message of an error: "Could not open x".
    package convenience init(
        _ path: UnsafePointer<CChar>, _ flags: CInt, permissions: mode_t = 0, in folder: CInt = AT_FDCWD,
        doing act: @autoclosure () -> String, operation: String? = nil
    ) throws(BlobError) {
        let number = retryingOnInterrupt { openat(folder, path, flags | O_CLOEXEC, permissions) }
        try self.init(number, doing: act(), operation: operation)
    }

    /// Borrows a descriptor, which stays open.
    package init(borrowing number: CInt) { (self.rawValue, self.isOwned) = (number, false) }

    deinit { self.close() }

    /// Closes an owned descriptor before it is released. Further calls do nothing.
    ///
    /// - Returns: False, with the reason in `errno`, if bytes may be lost: some file systems write only at this point
    ///   (close(2), NFS and quotas).
    @discardableResult
    package func close() -> Bool {
        guard self.isOwned, self.rawValue >= 0 else { return true }
        defer { self.rawValue = -1 }
        // On Linux, the descriptor is closed even after an interruption.
        return BlobPlatform.close(self.rawValue) == 0 || errno == EINTR
    }

    /// Returns the current status.
    ///
    /// - Parameter name: The name of the file in messages: "Could not get the attributes of " precedes it.
    package func status(named name: @autoclosure () -> String) throws(BlobError) -> FileStatus {
        guard let status = FileStatus(self.rawValue) else {
            throw BlobError(systemError: errno, doing: "Could not get the attributes of \(name())")
        }
        return status
    }

    /// Returns the status of a file in this folder, without following a link; nil, with the reason in `errno`, on
    /// failure.
    package func status(of name: UnsafePointer<CChar>) -> FileStatus? {
        FileStatus(at: name, in: self.rawValue, followingLinks: false)
    }

    /// Calls `pread(2)`, and retries after an interruption.
    ///
    /// - Parameter name: The name of the file in messages: "Could not read " precedes it.
    /// - Returns: The number of bytes read: possibly fewer than fit, even before the end of the file; 0 only at the
    ///   end.
    /// - Throws: The error of `pread(2)`.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64, named name: @autoclosure () -> String
    ) throws(BlobError) -> Int {
        while true {
            let count = pread(self.rawValue, buffer.baseAddress, buffer.count, off_t(byteOffset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw BlobError(systemError: errno, doing: "Could not read \(name())") }
        }
    }

    /// Reads until `buffer` is full or the file ends.
    ///
    /// - Parameter name: The name of the file in messages: "Could not read " precedes it.
    /// - Returns: The number of bytes read: fewer than fit only at the end of the file.
    /// - Throws: The error of `pread(2)`.
    package func fill(
        _ buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64, named name: @autoclosure () -> String
    ) throws(BlobError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try self.read(into: rest, at: byteOffset + Int64(filled), named: name())
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Returns the bytes at an offset: fewer than `count` only at the end of the file.
    ///
    /// - Parameter name: The name of the file in messages: "Could not read " precedes it.
    /// - Throws: The error of `pread(2)`.
    package func bytes(
        at byteOffset: Int64 = 0, count: Int, named name: @autoclosure () -> String
    ) throws(BlobError) -> [UInt8] {
        do {
            return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                filled = try self.fill(UnsafeMutableRawBufferPointer(buffer), at: byteOffset, named: name())
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Waits until the bytes, or the names of a folder, are on the disk.
    ///
    /// - Parameter act: The beginning of the message of an error: "Could not synchronise x".
    package func synchronise(doing act: @autoclosure () -> String) throws(BlobError) {
        guard retryingOnInterrupt({ fsync(self.rawValue) }) == 0 else { throw writeFailure(act()) }
    }

    /// Waits until the names of a folder are on the disk; until then, a power failure may undo a rename.
    ///
    /// Does nothing on a file system that does not support it.
    package func synchroniseFolder(doing act: @autoclosure () -> String) throws(BlobError) {
        guard retryingOnInterrupt({ fsync(self.rawValue) }) != 0, errno == EIO || errno == ENOSPC || errno == EDQUOT
        else { return }
        throw writeFailure(act())
    }

    /// Acquires the lock of `flock(2)` without waiting. Closing the last copy of the descriptor releases it.
    ///
    /// - Parameter kind: `LOCK_EX` or `LOCK_SH`.
    /// - Returns: False, with the reason in `errno`, if it was not acquired: `EWOULDBLOCK` while another owner holds
    ///   it.
    package func lock(_ kind: CInt = LOCK_EX) -> Bool {
        retryingOnInterrupt { flock(self.rawValue, kind | LOCK_NB) } == 0
    }

    /// Releases the lock even if a child process that was started meanwhile still has a copy of the descriptor, as it
    /// does until it executes its program.
    package func unlock() { _ = flock(self.rawValue, LOCK_UN) }
}

/// Repeats a system call as long as signals interrupt it.
///
/// - Parameter call: A closure that returns a negative number on failure, with the reason in `errno`.
/// - Returns: The result of the first call that was not interrupted.
package func retryingOnInterrupt<Failure: Error>(_ call: () throws(Failure) -> CInt) throws(Failure) -> CInt {
    while true {
        let result = try call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// Returns the error for the last failed call that writes, from `errno`.
package func writeFailure(_ act: String) -> BlobError {
    var error = BlobError(systemError: errno, doing: act)
    error.operation = "write"
    return error
}

/// Returns the names in a folder without `.` and `..`, and their types, such as `S_IFREG`, if the file system reports
/// them.
///
/// - Parameters:
///   - folder: The descriptor of the folder in which a relative path is looked up.
///   - act: The beginning of the message of an error: "Could not read x".
package func folderEntries(
    _ path: UnsafePointer<CChar>, in folder: CInt = AT_FDCWD, doing act: @autoclosure () -> String
) throws(BlobError) -> [(name: [UInt8], type: mode_t?)] {
    let descriptor = retryingOnInterrupt { openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0, let stream = fdopendir(descriptor) else {
        let error = BlobError(systemError: errno, doing: act())
        if descriptor >= 0 { close(descriptor) }
        throw error
    }
    defer { closedir(stream) }
    var entries: [(name: [UInt8], type: mode_t?)] = []
    while true {
        errno = 0
        guard let entry = readdir(stream) else { break }
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in Array(bytes.prefix { $0 != 0 }) }
        guard !name.elementsEqual(".".utf8), !name.elementsEqual("..".utf8) else { continue }
        // The type bits of a mode (IFTODT in dirent.h).
        let type = mode_t(entry.pointee.d_type) << 12
        entries.append((name, type == 0 ? nil : type))
    }
    guard errno == 0 else { throw BlobError(systemError: errno, doing: act()) }
    return entries
}
