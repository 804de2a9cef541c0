internal import CZlib

/// Returns the CRC-32 `value` (RFC 1952), updated with `bytes`.
func crc32(_ value: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    return UInt32(truncatingIfNeeded: crc32_z(uLong(value), start, bytes.count))
}
