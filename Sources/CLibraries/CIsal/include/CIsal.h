#ifndef BLOB_CISAL_H
#define BLOB_CISAL_H

// ISA-L, version 2.30 or later, loaded at first use. Declares the parts of its interface in use, under their own names;
// the tests compare them with its headers, which BLOB_LIBRARY_HEADERS includes instead.
#include <CLoading.h>
#include <stdint.h>

#ifndef BLOB_LIBRARY_HEADERS

#define ISAL_DEFLATE 0
#define ISAL_DECOMP_OK 0
#define ISAL_INVALID_BLOCK -1
#define ISAL_INVALID_SYMBOL -2
#define ISAL_INVALID_LOOKBACK -3

enum isal_block_state {
    ISAL_BLOCK_NEW_HDR = 0,
    ISAL_BLOCK_TYPE0 = 2,
    ISAL_BLOCK_CODED = 3,
    ISAL_BLOCK_INPUT_DONE = 4,
    ISAL_BLOCK_FINISH = 5,
};

struct inflate_state {
    uint8_t *next_out;
    uint32_t avail_out, total_out;
    uint8_t *next_in;
    uint64_t read_in;
    uint32_t avail_in;
    int32_t read_in_length;
    /// The codes of literals and lengths, and the codes of distances.
    struct {
        uint32_t short_code_lookup[4096];
        uint16_t long_code_lookup[1264];
    } lit_huff_code;
    struct {
        uint16_t short_code_lookup[1024], long_code_lookup[80];
    } dist_huff_code;
    enum isal_block_state block_state;
    uint32_t dict_length, bfinal, crc_flag, crc, hist_bits;
    int32_t count, write_overflow_lits, write_overflow_len, copy_overflow_length, copy_overflow_distance;
    int16_t wrapper_flag, tmp_in_size;
    int32_t tmp_out_valid, tmp_out_processed;
    uint8_t tmp_in_buffer[328], tmp_out_buffer[65536 + 288];
};

#endif

/// Loads ISA-L. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread loads another library.
const char *blob_isal_load(void);

/// The functions of ISA-L in use. Each is declared with the prefix `blob_`; the headers of ISA-L document them.
#define BLOB_ISAL_FUNCTIONS(X) \
    X(int, isal_inflate, (struct inflate_state *state), (state)) \
    X(void, isal_inflate_init, (struct inflate_state *state), (state)) \
    X(void, isal_inflate_reset, (struct inflate_state *state), (state)) \
    X(int, isal_inflate_set_dict, (struct inflate_state *state, uint8_t *bytes, uint32_t count), (state, bytes, count))

BLOB_ISAL_FUNCTIONS(BLOB_DECLARE)

// Swift does not import arrays as large as `tmp_out_buffer`.
static inline const uint8_t *blob_isal_history(const struct inflate_state *state) {
    return state->tmp_out_buffer;
}

#endif
