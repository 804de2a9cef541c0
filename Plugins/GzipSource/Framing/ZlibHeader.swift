import BlobCore

/// A parser of the header of a zlib stream (RFC 1950, section 2.2), byte by byte.
struct ZlibHeader {
    private var firstByte: UInt8?  // CMF

    /// Parses the next byte.
    ///
    /// - Returns: True when it was the last byte of the header.
    /// - Throws: ``BlobError/Code/unsupported``, without an offset, which is that of this byte.
    mutating func take(_ byte: UInt8) throws(BlobError) -> Bool {
        guard let firstByte = self.firstByte else {
            // CM is 8, deflate; CINFO at most 7, a window of 32 KiB.
            guard byte & 0x0F == 8, byte >> 4 <= 7 else {
                throw BlobError(
                    .unsupported, "These bytes are no zlib: they begin with \(hexadecimal(byte, digits: 2)).")
            }
            self.firstByte = byte
            return false
        }
        // FCHECK makes the two bytes a multiple of 31.
        guard (Int(firstByte) << 8 | Int(byte)) % 31 == 0 else {
            throw BlobError(.unsupported, "These bytes are no zlib: the check of the header fails.")
        }
        // FDICT
        guard byte & 0x20 == 0 else {
            throw BlobError(.unsupported, "The zlib data need a preset dictionary.")
        }
        return true
    }
}
