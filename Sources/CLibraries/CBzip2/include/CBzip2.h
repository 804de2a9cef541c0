#ifndef BLOB_CBZIP2_H
#define BLOB_CBZIP2_H

// libbz2, version 1.0, loaded at first use. Declares the parts of its interface in use, under their own names; the
// tests compare them with its header, which BLOB_LIBRARY_HEADERS includes instead.
#include <CLoading.h>

#ifndef BLOB_LIBRARY_HEADERS

#define BZ_OK 0
#define BZ_STREAM_END 4
#define BZ_MEM_ERROR (-3)

typedef struct {
    char *next_in;
    unsigned int avail_in, total_in_lo32, total_in_hi32;
    char *next_out;
    unsigned int avail_out, total_out_lo32, total_out_hi32;
    void *state;
    void *(*bzalloc)(void *context, int count, int size);
    void (*bzfree)(void *context, void *address);
    void *opaque;
} bz_stream;

#endif

/// Loads libbz2. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread loads another library.
const char *blob_bzip2_load(void);

/// The functions of libbz2 in use. Each is declared with the prefix `blob_`; the header of libbz2 documents them.
#define BLOB_BZIP2_FUNCTIONS(X) \
    X(int, BZ2_bzDecompressInit, (bz_stream *stream, int verbosity, int isSmall), (stream, verbosity, isSmall)) \
    X(int, BZ2_bzDecompress, (bz_stream *stream), (stream)) \
    X(int, BZ2_bzDecompressEnd, (bz_stream *stream), (stream))

BLOB_BZIP2_FUNCTIONS(BLOB_DECLARE)

#endif
