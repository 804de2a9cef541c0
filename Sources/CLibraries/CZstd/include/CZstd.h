#ifndef BLOB_CZSTD_H
#define BLOB_CZSTD_H

// Types and constants come from libzstd's header. Its functions are called through a table that `blob_zstd_load` fills, so
// that libzstd is not linked: a start without such a file does not pay for it.
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

/// Loads libzstd. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread calls `dlopen(3)` or `dlsym(3)` again.
const char *blob_zstd_load(void);

/// The functions of libzstd in use. Each is declared with the prefix `blob_`; the header of libzstd documents them.
#define BLOB_ZSTD_FUNCTIONS(X) \
    X(ZSTD_DCtx *, ZSTD_createDCtx, (void), ()) \
    X(size_t, ZSTD_freeDCtx, (ZSTD_DCtx *context), (context)) \
    X(size_t, ZSTD_DCtx_setParameter, (ZSTD_DCtx *context, ZSTD_dParameter parameter, int value), (context, parameter, value)) \
    X(size_t, ZSTD_decompressStream, (ZSTD_DStream *stream, ZSTD_outBuffer *output, ZSTD_inBuffer *input), (stream, output, input)) \
    X(unsigned, ZSTD_isError, (size_t code), (code))

#define BLOB_DECLARE(result, name, parameters, arguments) result blob_##name parameters;
BLOB_ZSTD_FUNCTIONS(BLOB_DECLARE)
#undef BLOB_DECLARE

#endif
