internal import CZlib

/// CRC-32 as in RFC 1952, going on from `value`.
func crc32(_ value: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    return UInt32(truncatingIfNeeded: crc32_z(uLong(value), start, bytes.count))
}
