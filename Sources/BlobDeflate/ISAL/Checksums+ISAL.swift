internal import CIsal

/// Returns the CRC-32 `value` (RFC 1952), updated with `bytes`.
func crc32(_ value: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    guard ISALEngine.isLoaded else { return zlibCRC32(value, bytes) }
    return blob_crc32_gzip_refl(value, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
}
