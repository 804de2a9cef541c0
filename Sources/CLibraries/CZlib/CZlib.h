#ifndef BLOB_CZLIB_H
#define BLOB_CZLIB_H

// Declares pointers to input as const.
#define ZLIB_CONST
#include <zlib.h>

// `inflateInit2` is a macro, which Swift does not import.
static inline int blob_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

// `deflateInit2` is also a macro; 8 is zlib's default memory level.
static inline int blob_deflate_init(z_stream *stream, int level, int window_bits) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

#endif
