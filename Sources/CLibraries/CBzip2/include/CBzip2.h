#ifndef BLOB_CBZIP2_H
#define BLOB_CBZIP2_H

// Types and constants come from libbz2's header. Its functions are called through a table that `blob_bzip2_load` fills, so
// that libbz2 is not linked: a start without such a file does not pay for it.
#include <stddef.h>
#include <stdint.h>
#include <bzlib.h>

/// Loads libbz2. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread calls `dlopen(3)` or `dlsym(3)` again.
const char *blob_bzip2_load(void);

/// The functions of libbz2 in use. Each is declared with the prefix `blob_`; the header of libbz2 documents them.
#define BLOB_BZIP2_FUNCTIONS(X) \
    X(int, BZ2_bzDecompressInit, (bz_stream *stream, int verbosity, int isSmall), (stream, verbosity, isSmall)) \
    X(int, BZ2_bzDecompress, (bz_stream *stream), (stream)) \
    X(int, BZ2_bzDecompressEnd, (bz_stream *stream), (stream))

#define BLOB_DECLARE(result, name, parameters, arguments) result blob_##name parameters;
BLOB_BZIP2_FUNCTIONS(BLOB_DECLARE)
#undef BLOB_DECLARE

#endif
