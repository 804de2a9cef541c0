internal import CZlib

/// The checksum of zlib: Adler-32 as in RFC 1950, section 8.2.
package struct Adler32: Equatable, Sendable {
    /// The checksum of the bytes so far; 1 before the first.
    package private(set) var value: UInt32 = 1

    /// The checksum of no bytes.
    package init() {}

    /// Takes more bytes in.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // zlib starts over when there is no pointer, which an empty buffer may not have.
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        let sum = adler32_z(uLong(self.value), start.assumingMemoryBound(to: UInt8.self), bytes.count)
        self.value = UInt32(truncatingIfNeeded: sum)
    }

    /// Takes in the bytes that `next` is the checksum of.
    package mutating func append(_ next: Adler32, byteCount: Int64) {
        let sum = adler32_combine(uLong(self.value), uLong(next.value), numericCast(byteCount))
        self.value = UInt32(truncatingIfNeeded: sum)
    }
}
