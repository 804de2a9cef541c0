internal import CIsal

/// CRC-32 as in RFC 1952, going on from `value`.
func crc32(_ value: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    crc32_gzip_refl(value, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
}
