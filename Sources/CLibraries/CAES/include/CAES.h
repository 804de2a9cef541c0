#ifndef CAES_H
#define CAES_H

#include <stddef.h>
#include <stdint.h>

/// The round keys of AES-256 for decryption (FIPS 197, 5.3.5), the first one to be used first.
typedef struct {
    uint8_t round_keys[15][16];
} blob_aes256;

/// Prepares the decryption with a key of 32 bytes.
void blob_aes256_prepare(blob_aes256 *aes, const uint8_t *key);

/// Decrypts blocks of 16 bytes in CBC mode (NIST SP 800-38A, 6.2), in place.
///
/// `previous` is the encrypted block before the first one, or the initialization vector; it becomes the last encrypted
/// block. With `is_portable` other than 0, the instructions of the processor for AES are not used.
void blob_aes256_cbc_decrypt(
    const blob_aes256 *aes, uint8_t *previous, uint8_t *blocks, size_t block_count, int is_portable);

#endif
