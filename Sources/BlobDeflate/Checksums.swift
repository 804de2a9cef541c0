internal import CIsal
internal import CZlib

/// A CRC-32 checksum, as gzip and zip use it (RFC 1952, section 8).
package struct CRC32: Equatable, Sendable {
    /// The checksum of the bytes so far; 0 before the first.
    package private(set) var value: UInt32 = 0

    /// Creates the checksum of no bytes.
    package init() {}

    /// Creates the checksum of `bytes`.
    package init(of bytes: UnsafeRawBufferPointer) { self.update(bytes) }

    /// Creates the checksum of `bytes`.
    package init(of bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { self.update($0) } }

    /// Creates the checksum of `bytes`.
    package init(of bytes: [UInt8]) { self.init(of: bytes[...]) }

    /// Updates the checksum with `bytes`.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // zlib starts over when the pointer is null, as that of an empty buffer may be.
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), !bytes.isEmpty else { return }
        if ISALEngine.isLoaded {
            self.value = blob_crc32_gzip_refl(self.value, start, UInt64(bytes.count))
        } else {
            self.value = UInt32(truncatingIfNeeded: crc32_z(uLong(self.value), start, bytes.count))
        }
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
