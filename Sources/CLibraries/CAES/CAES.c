#include "CAES.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { rounds = 14 };

static uint8_t sbox[256], inverse_sbox[256];
/// The products of a byte and the column of InvMixColumns, 0E 09 0D 0B.
static uint32_t columns[256];

static uint8_t doubled(uint8_t byte) { return (uint8_t)(byte << 1 ^ (byte & 0x80 ? 0x1B : 0)); }

static uint8_t rotated(uint8_t byte, int count) { return (uint8_t)(byte << count | byte >> (8 - count)); }

/// Computes the tables (FIPS 197, 5.1.1 and 5.3.3); 3 generates all elements of the field but 0, and F6 is its inverse.
__attribute__((constructor)) static void make_tables(void) {
    uint8_t element = 1, inverse = 1;
    do {
        element ^= doubled(element);
        inverse ^= (uint8_t)(inverse << 1);
        inverse ^= (uint8_t)(inverse << 2);
        inverse ^= (uint8_t)(inverse << 4);
        if (inverse & 0x80) inverse ^= 0x09;
        sbox[element] = inverse ^ rotated(inverse, 1) ^ rotated(inverse, 2) ^ rotated(inverse, 3)
            ^ rotated(inverse, 4) ^ 0x63;
    } while (element != 1);
    sbox[0] = 0x63;
    for (int byte = 0; byte < 256; byte++) inverse_sbox[sbox[byte]] = (uint8_t)byte;
    for (int byte = 0; byte < 256; byte++) {
        uint8_t one = (uint8_t)byte, two = doubled(one), four = doubled(two), eight = doubled(four);
        columns[byte] = (uint32_t)(eight ^ four ^ two) | (uint32_t)(eight ^ one) << 8
            | (uint32_t)(eight ^ four ^ one) << 16 | (uint32_t)(eight ^ two ^ one) << 24;
    }
}

static uint32_t turned(uint32_t word, int count) { return count ? word << count | word >> (32 - count) : word; }

/// InvMixColumns of four bytes.
static void mix(uint8_t *bytes) {
    uint32_t sum = 0;
    for (int row = 0; row < 4; row++) sum ^= turned(columns[bytes[row]], 8 * row);
    for (int row = 0; row < 4; row++) bytes[row] = (uint8_t)(sum >> (8 * row));
}

void blob_aes256_prepare(blob_aes256 *aes, const uint8_t *key) {
    // KeyExpansion of FIPS 197, 5.2, for a key of 8 words.
    uint8_t words[4 * (rounds + 1)][4];
    uint8_t constant = 1;
    memcpy(words, key, 32);
    for (int index = 8; index < 4 * (rounds + 1); index++) {
        uint8_t word[4];
        memcpy(word, words[index - 1], 4);
        if (index % 8 == 0) {
            uint8_t first = word[0];
            for (int row = 0; row < 4; row++) word[row] = sbox[row == 3 ? first : word[row + 1]];
            word[0] ^= constant;
            constant = doubled(constant);
        } else if (index % 8 == 4) {
            for (int row = 0; row < 4; row++) word[row] = sbox[word[row]];
        }
        for (int row = 0; row < 4; row++) words[index][row] = words[index - 8][row] ^ word[row];
    }
    for (int round = 0; round <= rounds; round++) {
        memcpy(aes->round_keys[round], words[4 * (rounds - round)], 16);
        if (round == 0 || round == rounds) continue;
        for (int column = 0; column < 4; column++) mix(aes->round_keys[round] + 4 * column);
    }
}

/// The equivalent inverse cipher (FIPS 197, 5.3.5).
static void decrypt(const blob_aes256 *aes, uint8_t *block) {
    uint8_t state[16], next[16];
    for (int index = 0; index < 16; index++) state[index] = block[index] ^ aes->round_keys[0][index];
    for (int round = 1; round <= rounds; round++) {
        // InvShiftRows moves the byte in a row by as many columns as the row has in its number.
        for (int index = 0; index < 16; index++) next[index] = inverse_sbox[state[(index + 12 * (index % 4)) % 16]];
        for (int column = 0; column < 4 && round < rounds; column++) mix(next + 4 * column);
        for (int index = 0; index < 16; index++) state[index] = next[index] ^ aes->round_keys[round][index];
    }
    memcpy(block, state, 16);
}

#if defined(__x86_64__)
__attribute__((target("aes"))) static void decrypt_fast(
    const blob_aes256 *aes, uint8_t *previous, uint8_t *blocks, size_t block_count) {
    enum { width = 8 };  // As many blocks at a time as the latency of an instruction has cycles, and more.
    __m128i keys[rounds + 1], last = _mm_loadu_si128((const __m128i *)previous);
    for (int round = 0; round <= rounds; round++) {
        keys[round] = _mm_loadu_si128((const __m128i *)aes->round_keys[round]);
    }
    while (block_count > 0) {
        __m128i input[width], state[width];
        size_t count = block_count < width ? block_count : width;
        for (size_t index = 0; index < width; index++) {
            size_t place = index < count ? index : 0;
            input[index] = _mm_loadu_si128((const __m128i *)blocks + place);
            state[index] = _mm_xor_si128(input[index], keys[0]);
        }
        for (int round = 1; round < rounds; round++) {
            for (size_t index = 0; index < width; index++) state[index] = _mm_aesdec_si128(state[index], keys[round]);
        }
        for (size_t index = 0; index < count; index++) {
            __m128i output = _mm_xor_si128(_mm_aesdeclast_si128(state[index], keys[rounds]), last);
            _mm_storeu_si128((__m128i *)blocks + index, output);
            last = input[index];
        }
        blocks += 16 * count;
        block_count -= count;
    }
    _mm_storeu_si128((__m128i *)previous, last);
}
#endif

void blob_aes256_cbc_decrypt(
    const blob_aes256 *aes, uint8_t *previous, uint8_t *blocks, size_t block_count, int is_portable) {
#if defined(__x86_64__)
    if (!is_portable && __builtin_cpu_supports("aes")) return decrypt_fast(aes, previous, blocks, block_count);
#else
    (void)is_portable;
#endif
    for (; block_count > 0; block_count--, blocks += 16) {
        uint8_t encrypted[16];
        memcpy(encrypted, blocks, 16);
        decrypt(aes, blocks);
        for (int index = 0; index < 16; index++) blocks[index] ^= previous[index];
        memcpy(previous, encrypted, 16);
    }
}
