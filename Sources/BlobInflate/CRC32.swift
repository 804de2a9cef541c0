internal import CZlib

/// The checksum of gzip and zip: CRC-32 as in RFC 1952, section 8.
package struct CRC32: Equatable, Sendable {
    /// The checksum of the bytes so far; 0 before the first.
    package private(set) var value: UInt32 = 0

    /// The checksum of no bytes.
    package init() {}

    /// Takes more bytes in.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // zlib starts over when there is no pointer, which an empty buffer may not have.
        guard !bytes.isEmpty else { return }
        self.value = crc32(self.value, bytes)
    }

    /// Takes in the bytes that `next` is the checksum of.
    package mutating func append(_ next: CRC32, byteCount: Int64) {
        let sum = crc32_combine(uLong(self.value), uLong(next.value), numericCast(byteCount))
        self.value = UInt32(truncatingIfNeeded: sum)
    }

    /// Takes one more byte in.
    package mutating func update(_ byte: UInt8) {
        withUnsafeBytes(of: byte) { self.update($0) }
    }
}
