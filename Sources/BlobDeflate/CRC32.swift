internal import CZlib

/// A CRC-32 checksum, as gzip and zip use it (RFC 1952, section 8).
package struct CRC32: Equatable, Sendable {
    /// The checksum of the bytes so far; 0 before the first.
    package private(set) var value: UInt32 = 0

    /// Creates the checksum of no bytes.
    package init() {}

    /// Updates the checksum with `bytes`.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // zlib starts over when the pointer is null, as that of an empty buffer may be.
        guard !bytes.isEmpty else { return }
        self.value = crc32(self.value, bytes)
    }

    /// Updates the checksum with the `byteCount` bytes whose checksum is `next`.
    package mutating func append(_ next: CRC32, byteCount: Int64) {
        let sum = crc32_combine(uLong(self.value), uLong(next.value), numericCast(byteCount))
        self.value = UInt32(truncatingIfNeeded: sum)
    }

    /// Updates the checksum with one byte.
    package mutating func update(_ byte: UInt8) {
        withUnsafeBytes(of: byte) { self.update($0) }
    }
}

/// Returns the CRC-32 `value` (RFC 1952), updated by zlib with `bytes`.
func zlibCRC32(_ value: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    return UInt32(truncatingIfNeeded: crc32_z(uLong(value), start, bytes.count))
}
