#ifndef BLOB_CZLIB_H
#define BLOB_CZLIB_H

// Input is not written to.
#define ZLIB_CONST
#include <zlib.h>

// Macros in zlib, which Swift does not import.
static inline int blob_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

// Likewise; as much memory as zlib takes by default.
static inline int blob_deflate_init(z_stream *stream, int level, int window_bits) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

#endif
