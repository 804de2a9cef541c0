internal import CZlib

/// An Adler-32 checksum, as zlib uses it (RFC 1950, section 8.2).
package struct Adler32: Equatable, Sendable {
    /// The checksum of the bytes so far; 1 before the first.
    package private(set) var value: UInt32 = 1

    /// Creates the checksum of no bytes.
    package init() {}

    /// Updates the checksum with `bytes`.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // zlib starts over when the pointer is null, as that of an empty buffer may be.
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        let sum = adler32_z(uLong(self.value), start.assumingMemoryBound(to: UInt8.self), bytes.count)
        self.value = UInt32(truncatingIfNeeded: sum)
    }

    /// Updates the checksum with the `byteCount` bytes whose checksum is `next`.
    package mutating func append(_ next: Adler32, byteCount: Int64) {
        let sum = adler32_combine(uLong(self.value), uLong(next.value), numericCast(byteCount))
        self.value = UInt32(truncatingIfNeeded: sum)
    }
}
