package import BlobPlatform

/// Functions that read an open regular file at an offset, so that threads can share its descriptor.
package enum RegularFile {
    /// Calls `pread(2)`, again after an interruption.
    ///
    /// - Parameter name: The name of the file in messages: "Could not read " precedes it.
    /// - Returns: The number of bytes read: fewer than fit are possible anywhere, 0 only at the end of the file.
    /// - Throws: The error of `pread(2)`.
    package static func read(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64,
        named name: @autoclosure () -> String
    ) throws(BlobError) -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(byteOffset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw BlobError(systemError: errno, doing: "Could not read \(name())") }
        }
    }

    /// Reads until `buffer` is full or the file ends.
    ///
    /// - Parameter name: The name of the file in messages: "Could not read " precedes it.
    /// - Returns: The number of bytes read: fewer than fit only at the end of the file.
    /// - Throws: The error of `pread(2)`.
    package static func fill(
        _ buffer: UnsafeMutableRawBufferPointer, from descriptor: CInt, at byteOffset: Int64,
        named name: @autoclosure () -> String
    ) throws(BlobError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try self.read(descriptor, into: rest, at: byteOffset + Int64(filled), named: name())
            if count == 0 { break }
            filled += count
        }
        return filled
    }
}

/// Calls a system call again for as long as signals interrupt it.
///
/// - Parameter call: Returns a negative number when it fails, with the reason in `errno`.
/// - Returns: The result of the first call that was not interrupted.
package func uninterrupted<Failure: Error>(_ call: () throws(Failure) -> CInt) throws(Failure) -> CInt {
    while true {
        let result = try call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// Returns the type of a file, `S_IFREG` for example; nil, with the reason in `errno`, when it cannot be told.
///
/// - Parameter path: The bytes of the path, with a zero behind them.
package func fileType(at path: [CChar], followingLinks: Bool) -> mode_t? {
    var status = stat()
    guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
    return status.st_mode & S_IFMT
}
