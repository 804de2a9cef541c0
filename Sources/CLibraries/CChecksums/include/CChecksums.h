#ifndef BLOB_CCHECKSUMS_H
#define BLOB_CCHECKSUMS_H

#include <stddef.h>
#include <stdint.h>

/// A cyclic redundancy check whose bits are reflected, with all bits set before the first byte and inverted after the
/// last.
typedef struct blob_crc blob_crc;

/// CRC-32, as gzip and zip use it (RFC 1952, section 8).
const blob_crc *blob_crc32(void);
/// CRC-32C, as iSCSI uses it (RFC 3720, section 12.1).
const blob_crc *blob_crc32c(void);
/// CRC-64/NVME (NVM Command Set Specification 1.0, section 5.2.1.3.4).
const blob_crc *blob_crc64_nvme(void);

/// Returns the checksum of the bytes so far, whose checksum is `value` (0 if there are none), followed by `count`
/// bytes.
uint64_t blob_crc_update(const blob_crc *crc, uint64_t value, const uint8_t *bytes, size_t count);

/// Does the same as `blob_crc_update` without carry-less multiplication, as on processors that lack it; for tests.
uint64_t blob_crc_update_by_table(const blob_crc *crc, uint64_t value, const uint8_t *bytes, size_t count);

/// Returns the checksum of bytes whose checksum is `first`, followed by `count` bytes whose checksum is `second`.
uint64_t blob_crc_combine(const blob_crc *crc, uint64_t first, uint64_t second, uint64_t count);

#endif
