#ifndef BLOB_CLZMA_H
#define BLOB_CLZMA_H

// Types and constants come from liblzma's header. Its functions are called through a table that `blob_lzma_load` fills, so
// that liblzma is not linked: a start without such a file does not pay for it.
#include <stddef.h>
#include <stdint.h>
#include <lzma.h>

/// Loads liblzma. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread calls `dlopen(3)` or `dlsym(3)` again.
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

#define BLOB_DECLARE(result, name, parameters, arguments) result blob_##name parameters;
BLOB_LZMA_FUNCTIONS(BLOB_DECLARE)
#undef BLOB_DECLARE

#endif
