import BlobCore
internal import CChecksums
internal import CZlib

/// A CRC-32 checksum, as used by gzip and zip (RFC 1952, section 8).
package struct CRC32: Equatable, Sendable {
    private var sum = CyclicSum(.crc32)

    /// The checksum of the bytes so far; 0 before the first.
    package var value: UInt32 { UInt32(self.sum.value) }

    /// Creates the checksum of an empty sequence.
    package init() {}

    /// Creates the checksum of `bytes`.
    package init(of bytes: UnsafeRawBufferPointer) { self.update(bytes) }

    /// Creates the checksum of `bytes`.
    package init(of bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { self.update($0) } }

    /// Creates the checksum of `bytes`.
    package init(of bytes: [UInt8]) { self.init(of: bytes[...]) }

    /// Updates the checksum with `bytes`.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) { self.sum.update(bytes) }

    /// Updates the checksum with the `byteCount` bytes whose checksum is `next`.
    package mutating func append(_ next: CRC32, byteCount: Int64) { self.sum.append(next.sum, byteCount: byteCount) }

    /// Updates the checksum with one byte.
    package mutating func update(_ byte: UInt8) {
        withUnsafeBytes(of: byte) { self.update($0) }
    }
}

/// An Adler-32 checksum, as used by zlib (RFC 1950, section 8.2).
package struct Adler32: Equatable, Sendable {
    /// The checksum of the bytes so far; 1 before the first.
    package private(set) var value: UInt32 = 1

    /// Creates the checksum of an empty sequence.
    package init() {}

    /// Updates the checksum with `bytes`.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // zlib starts over when the pointer is null; an empty buffer may have a null pointer.
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

/// A cyclic redundancy check with reflected bits, which are all set before the first byte and inverted after the last.
package struct CyclicSum: BlobHasher, Equatable, Sendable {
    /// The polynomial of a checksum.
    package enum Polynomial: Sendable {
        /// CRC-32 of gzip and zip (RFC 1952, section 8).
        case crc32
        /// CRC-32C of iSCSI (RFC 3720, section 12.1).
        case crc32c
        /// CRC-64 of NVMe (NVM Command Set Specification 1.0, section 5.2.1.3.4).
        case crc64NVME
    }

    private let polynomial: Polynomial

    /// The checksum of the bytes so far; 0 before the first.
    package private(set) var value: UInt64 = 0

    /// Creates the checksum of an empty sequence.
    package init(_ polynomial: Polynomial) { self.polynomial = polynomial }

    /// Updates the checksum with `bytes`.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        self.value = blob_crc_update(self.table, self.value, start, bytes.count)
    }

    /// Updates the checksum with the `byteCount` bytes whose checksum is `next`.
    package mutating func append(_ next: CyclicSum, byteCount: Int64) {
        self.value = blob_crc_combine(self.table, self.value, next.value, UInt64(byteCount))
    }

    /// The bytes of the checksum, the most significant byte first.
    package func finalize() -> [UInt8] {
        let byteCount: UInt64 = self.polynomial == .crc64NVME ? 8 : 4
        return (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: self.value >> (8 * $0)) }
    }

    private var table: OpaquePointer {
        switch self.polynomial {
        case .crc32: blob_crc32()
        case .crc32c: blob_crc32c()
        case .crc64NVME: blob_crc64_nvme()
        }
    }
}
