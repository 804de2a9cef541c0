/// Returns the CRC-32 `value` (RFC 1952), updated with `bytes`.
func crc32(_ value: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 { zlibCRC32(value, bytes) }
