#ifndef BLOB_CZSTD_H
#define BLOB_CZSTD_H

// libzstd, version 1.4 or later, loaded at first use. Declares the parts of its interface in use, under their own
// names; the tests compare them with its header, which BLOB_LIBRARY_HEADERS includes instead.
#include <CLoading.h>
#include <stddef.h>

#ifndef BLOB_LIBRARY_HEADERS

typedef struct ZSTD_DCtx_s ZSTD_DCtx;
typedef ZSTD_DCtx ZSTD_DStream;

typedef enum { ZSTD_d_windowLogMax = 100 } ZSTD_dParameter;

typedef struct {
    const void *src;
    size_t size, pos;
} ZSTD_inBuffer;

typedef struct {
    void *dst;
    size_t size, pos;
} ZSTD_outBuffer;

#endif

/// Loads libzstd. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread loads another library.
const char *blob_zstd_load(void);

/// The functions of libzstd in use. Each is declared with the prefix `blob_`; the header of libzstd documents them.
#define BLOB_ZSTD_FUNCTIONS(X) \
    X(ZSTD_DCtx *, ZSTD_createDCtx, (void), ()) \
    X(size_t, ZSTD_freeDCtx, (ZSTD_DCtx *context), (context)) \
    X(size_t, ZSTD_DCtx_setParameter, (ZSTD_DCtx *context, ZSTD_dParameter parameter, int value), (context, parameter, value)) \
    X(size_t, ZSTD_decompressStream, (ZSTD_DStream *stream, ZSTD_outBuffer *output, ZSTD_inBuffer *input), (stream, output, input)) \
    X(unsigned, ZSTD_isError, (size_t code), (code))

BLOB_ZSTD_FUNCTIONS(BLOB_DECLARE)

#endif
