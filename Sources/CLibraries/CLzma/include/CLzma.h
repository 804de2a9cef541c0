#ifndef BLOB_CLZMA_H
#define BLOB_CLZMA_H

// liblzma, version 5.2 or later, loaded at first use. Declares the parts of its interface in use, under their own
// names; the tests compare them with its headers, which BLOB_LIBRARY_HEADERS includes instead.
#include <CLoading.h>
#include <stddef.h>
#include <stdint.h>

#ifndef BLOB_LIBRARY_HEADERS

#define LZMA_FILTERS_MAX 4
#define LZMA_STREAM_HEADER_SIZE 12
#define LZMA_BLOCK_HEADER_SIZE_MAX 1024
#define LZMA_CHECK_SIZE_MAX 64

typedef uint64_t lzma_vli;
typedef unsigned char lzma_bool;
typedef enum {
    LZMA_OK = 0,
    LZMA_STREAM_END = 1,
    LZMA_MEM_ERROR = 5,
    LZMA_BUF_ERROR = 10,
} lzma_ret;
typedef enum { LZMA_RUN = 0 } lzma_action;
typedef enum { LZMA_CHECK_NONE = 0 } lzma_check;

typedef struct {
    void *(*alloc)(void *opaque, size_t count, size_t size);
    void (*free)(void *opaque, void *address);
    void *opaque;
} lzma_allocator;

/// The state of a coder. Must be zeroed before its first use.
typedef struct {
    const uint8_t *next_in;
    size_t avail_in;
    uint64_t total_in;
    uint8_t *next_out;
    size_t avail_out;
    uint64_t total_out;
    const lzma_allocator *allocator;
    void *internal;
    void *reserved_pointers[4];
    uint64_t seek_pos, reserved_number;
    size_t reserved_sizes[2];
    unsigned int reserved_enumerations[2];
} lzma_stream;

typedef struct {
    lzma_vli id;
    void *options;
} lzma_filter;

typedef struct {
    uint32_t version, header_size;
    lzma_check check;
    lzma_vli compressed_size, uncompressed_size;
    lzma_filter *filters;
    uint8_t raw_check[LZMA_CHECK_SIZE_MAX];
    void *reserved_pointers[3];
    uint32_t reserved_numbers[2];
    lzma_vli reserved_lengths[6];
    unsigned int reserved_enumerations[4];
    lzma_bool ignore_check, reserved_booleans[7];
} lzma_block;

typedef struct {
    uint32_t version;
    lzma_vli backward_size;
    lzma_check check;
    unsigned int reserved_enumerations[4];
    lzma_bool reserved_booleans[8];
    uint32_t reserved_numbers[2];
} lzma_stream_flags;

/// The options of a branch filter.
typedef struct {
    uint32_t start_offset;
} lzma_options_bcj;

/// The options of LZMA2, of which a decoder needs only the size of the window.
typedef struct {
    uint32_t dict_size;
    const uint8_t *preset_dict;
    uint32_t preset_dict_size, lc, lp, pb;
    unsigned int mode;
    uint32_t nice_len;
    unsigned int mf;
    uint32_t depth, ext_flags, ext_size_low, ext_size_high, reserved_numbers[5];
    unsigned int reserved_enumerations[4];
    void *reserved_pointers[2];
} lzma_options_lzma;

#endif

/// Loads liblzma. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread loads another library.
const char *blob_lzma_load(void);

/// The functions of liblzma in use. Each is declared with the prefix `blob_`; the header of liblzma documents them.
#define BLOB_LZMA_FUNCTIONS(X) \
    X(lzma_ret, lzma_block_header_decode, (lzma_block *block, const lzma_allocator *allocator, const uint8_t *bytes), (block, allocator, bytes)) \
    X(lzma_ret, lzma_block_compressed_size, (lzma_block *block, lzma_vli unpadded), (block, unpadded)) \
    X(lzma_ret, lzma_block_decoder, (lzma_stream *stream, lzma_block *block), (stream, block)) \
    X(lzma_ret, lzma_code, (lzma_stream *stream, lzma_action action), (stream, action)) \
    X(lzma_ret, lzma_raw_decoder, (lzma_stream *stream, const lzma_filter *filters), (stream, filters)) \
    X(lzma_bool, lzma_filter_decoder_is_supported, (lzma_vli filter), (filter)) \
    X(lzma_ret, lzma_stream_footer_decode, (lzma_stream_flags *flags, const uint8_t *bytes), (flags, bytes)) \
    X(lzma_ret, lzma_stream_header_decode, (lzma_stream_flags *flags, const uint8_t *bytes), (flags, bytes)) \
    X(void, lzma_end, (lzma_stream *stream), (stream)) \
    X(lzma_ret, lzma_stream_flags_compare, (const lzma_stream_flags *first, const lzma_stream_flags *second), (first, second))

BLOB_LZMA_FUNCTIONS(BLOB_DECLARE)

#endif
