import BlobPlatform

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
