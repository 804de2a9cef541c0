#include "CChecksums.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_AES)
#include <arm_neon.h>
#endif

/// The distance between the factors of one fold, in lanes of 16 bytes.
enum { near = 1, middle = 4, far = 16 };

struct blob_crc {
    int width;
    /// The polynomial without its first term; the lowest bit is the term of the highest degree.
    uint64_t polynomial;
    uint64_t table[8][256];
    /// The factors by which the halves of a lane move ahead by 1, 4 and 16 lanes.
    uint64_t near_factors[2], middle_factors[2], far_factors[2];
};

static uint64_t ones(const blob_crc *crc) { return crc->width == 64 ? UINT64_MAX : UINT32_MAX; }

static uint64_t one(const blob_crc *crc) { return 1ull << (crc->width - 1); }

static uint64_t times_x(const blob_crc *crc, uint64_t value) { return value >> 1 ^ (value & 1 ? crc->polynomial : 0); }

/// Computes the factors for a distance. The product of two reflected 64-bit numbers lacks one factor x.
static void set_factors(const blob_crc *crc, uint64_t factors[2], int lanes) {
    uint64_t power = one(crc);
    for (int degree = 1; degree < lanes * 128 + 64; degree++) {
        power = times_x(crc, power);
        if (degree == lanes * 128 - 1) factors[1] = power << (64 - crc->width);
    }
    factors[0] = power << (64 - crc->width);
}

static void set(blob_crc *crc, int width, uint64_t polynomial) {
    crc->width = width;
    crc->polynomial = polynomial;
    for (int byte = 0; byte < 256; byte++) {
        uint64_t value = byte;
        for (int bit = 0; bit < 8; bit++) value = times_x(crc, value);
        crc->table[0][byte] = value;
    }
    for (int row = 1; row < 8; row++) {
        for (int byte = 0; byte < 256; byte++) {
            uint64_t value = crc->table[row - 1][byte];
            crc->table[row][byte] = crc->table[0][value & 0xff] ^ value >> 8;
        }
    }
    set_factors(crc, crc->near_factors, near);
    set_factors(crc, crc->middle_factors, middle);
    set_factors(crc, crc->far_factors, far);
}

static blob_crc crc32, crc32c, crc64_nvme;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_all(void) {
    set(&crc32, 32, 0xedb88320);
    set(&crc32c, 32, 0x82f63b78);
    set(&crc64_nvme, 64, 0x9a6c9329ac4bc9b5);
}

const blob_crc *blob_crc32(void) {
    pthread_once(&once, set_all);
    return &crc32;
}

const blob_crc *blob_crc32c(void) {
    pthread_once(&once, set_all);
    return &crc32c;
}

const blob_crc *blob_crc64_nvme(void) {
    pthread_once(&once, set_all);
    return &crc64_nvme;
}

/// Updates a checksum whose bits are not inverted.
static uint64_t by_table(const blob_crc *crc, uint64_t value, const uint8_t *bytes, size_t count) {
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word = 0;
        for (int index = 0; index < 8; index++) word |= (uint64_t)bytes[index] << 8 * index;
        word ^= value;
        value = 0;
        for (int index = 0; index < 8; index++) value ^= crc->table[7 - index][word >> 8 * index & 0xff];
    }
    for (; count > 0; bytes++, count--) value = crc->table[0][(value ^ *bytes) & 0xff] ^ value >> 8;
    return value;
}

#if defined(__x86_64__)

typedef __m128i lane;
#define FOLDING __attribute__((target("sse2,pclmul")))

FOLDING static inline lane load(const void *bytes) { return _mm_loadu_si128(bytes); }

/// Moves a lane ahead by the distance of the factors, and adds the lane at that position.
FOLDING static inline lane fold(lane value, lane factors, lane next) {
    lane low = _mm_clmulepi64_si128(value, factors, 0x00), high = _mm_clmulepi64_si128(value, factors, 0x11);
    return _mm_xor_si128(next, _mm_xor_si128(low, high));
}

#define WIDE __attribute__((target("avx512f,vpclmulqdq")))

/// Folds 16 lanes at a time, from 512 bytes, into 16 lanes; returns the remaining bytes.
WIDE static const uint8_t *fold_far(
    const blob_crc *crc, uint64_t value, const uint8_t *bytes, size_t count, uint8_t lanes[far * 16]
) {
    __m512i folded[4], factors = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)crc->far_factors));
    for (int index = 0; index < 4; index++) folded[index] = _mm512_loadu_si512(bytes + 64 * index);
    folded[0] = _mm512_xor_si512(folded[0], _mm512_zextsi128_si512(_mm_cvtsi64_si128((long long)value)));
    for (bytes += far * 16, count -= far * 16; count >= far * 16; bytes += far * 16, count -= far * 16) {
        for (int index = 0; index < 4; index++) {
            __m512i low = _mm512_clmulepi64_epi128(folded[index], factors, 0x00);
            __m512i high = _mm512_clmulepi64_epi128(folded[index], factors, 0x11);
            folded[index] = _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(bytes + 64 * index), 0x96);
        }
    }
    for (int index = 0; index < 4; index++) _mm512_storeu_si512(lanes + 64 * index, folded[index]);
    return bytes;
}

static int folds(void) { return __builtin_cpu_supports("pclmul"); }
static int folds_far(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq"); }

#elif defined(__aarch64__) && defined(__ARM_FEATURE_AES)

typedef uint64x2_t lane;
#define FOLDING

static inline lane load(const void *bytes) { return vreinterpretq_u64_u8(vld1q_u8(bytes)); }

static inline lane fold(lane value, lane factors, lane next) {
    poly128_t low = vmull_p64((poly64_t)vgetq_lane_u64(value, 0), (poly64_t)vgetq_lane_u64(factors, 0));
    poly128_t high = vmull_high_p64(vreinterpretq_p64_u64(value), vreinterpretq_p64_u64(factors));
    return veorq_u64(next, veorq_u64(vreinterpretq_u64_p128(low), vreinterpretq_u64_p128(high)));
}

static int folds(void) { return 1; }
static int folds_far(void) { return 0; }

#else

static int folds(void) { return 0; }

#endif

#ifdef FOLDING

/// Folds the lanes, from 128 bytes, into one with the same remainder as the bytes, and adds the few remaining bytes.
FOLDING static uint64_t by_folding(const blob_crc *crc, uint64_t value, const uint8_t *bytes, size_t count) {
    uint8_t first[far * 16];
    lane lanes[middle];
    const uint8_t *end = bytes + count;
    int lane_count;
    const uint8_t *rest;
#if defined(__x86_64__)
    if (count >= 2 * far * 16 && folds_far()) {
        rest = fold_far(crc, value, bytes, count, first);
        lane_count = far;
    } else
#endif
    {
        memcpy(first, bytes, middle * 16);
        for (int index = 0; index < 8; index++) first[index] ^= (uint8_t)(value >> 8 * index);
        rest = bytes + middle * 16;
        lane_count = middle;
    }
    lane factors = load(crc->middle_factors);
    for (int index = 0; index < middle; index++) lanes[index] = load(first + 16 * index);
    for (int base = middle; base < lane_count; base += middle) {
        for (int index = 0; index < middle; index++) {
            lanes[index] = fold(lanes[index], factors, load(first + 16 * (base + index)));
        }
    }
    for (; end - rest >= middle * 16; rest += middle * 16) {
        for (int index = 0; index < middle; index++) lanes[index] = fold(lanes[index], factors, load(rest + 16 * index));
    }
    factors = load(crc->near_factors);
    for (int index = 1; index < middle; index++) lanes[0] = fold(lanes[0], factors, lanes[index]);
    for (; end - rest >= 16; rest += 16) lanes[0] = fold(lanes[0], factors, load(rest));
    memcpy(first, &lanes[0], 16);
    return by_table(crc, by_table(crc, 0, first, 16), rest, (size_t)(end - rest));
}

#endif

uint64_t blob_crc_update(const blob_crc *crc, uint64_t value, const uint8_t *bytes, size_t count) {
#ifdef FOLDING
    if (count >= 2 * middle * 16 && folds()) return by_folding(crc, value ^ ones(crc), bytes, count) ^ ones(crc);
#endif
    return blob_crc_update_by_table(crc, value, bytes, count);
}

uint64_t blob_crc_update_by_table(const blob_crc *crc, uint64_t value, const uint8_t *bytes, size_t count) {
    return by_table(crc, value ^ ones(crc), bytes, count) ^ ones(crc);
}

static uint64_t product(const blob_crc *crc, uint64_t first, uint64_t second) {
    uint64_t sum = 0;
    for (uint64_t term = one(crc); term != 0; term >>= 1, second = times_x(crc, second)) {
        if (first & term) sum ^= second;
    }
    return sum;
}

uint64_t blob_crc_combine(const blob_crc *crc, uint64_t first, uint64_t second, uint64_t count) {
    // x to the power of 8, of 16, of 32 ...
    uint64_t power = one(crc) >> 8;
    for (; count > 0; count >>= 1, power = product(crc, power, power)) {
        if (count & 1) first = product(crc, first, power);
    }
    return first ^ second;
}
