// What the headers of the libraries say. A function with another prototype than ours does not compile.
#define BLOB_LIBRARY_HEADERS

#include "CHeaders.h"
#include "Facts.h"
#include "Real.h"

#define FACT(value) {#value, (long long)(value)},
#define REAL(library) \
    const struct header_fact *real_##library(void) { \
        static const struct header_fact facts[] = {FACTS_##library(FACT)}; \
        return facts; \
    }
#define MISSING(library) \
    const struct header_fact *real_##library(void) { return NULL; }
// Newer versions of libcurl declare the first parameter of curl_url_get as const.
#define SAME(result, name, parameters, arguments) \
    _Static_assert( \
        __builtin_types_compatible_p(__typeof__(name), result parameters) \
            || __builtin_strcmp(#name, "curl_url_get") == 0, \
        #name);

#if __has_include(<archive.h>)
#include <archive.h>
#include <archive_entry.h>
#include <CArchive.h>
REAL(CArchive)
BLOB_ARCHIVE_FUNCTIONS(SAME)
#else
MISSING(CArchive)
#endif

#if __has_include(<bzlib.h>)
#include <bzlib.h>
#include <CBzip2.h>
REAL(CBzip2)
BLOB_BZIP2_FUNCTIONS(SAME)
#else
MISSING(CBzip2)
#endif

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#include <CCurl.h>
REAL(CCurl)
BLOB_CURL_FUNCTIONS(SAME)
#else
MISSING(CCurl)
#endif

#if __has_include(<isa-l/igzip_lib.h>)
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <CIsal.h>
REAL(CIsal)
BLOB_ISAL_FUNCTIONS(SAME)
#else
MISSING(CIsal)
#endif

#if __has_include(<lzma.h>)
#include <lzma.h>
#include <CLzma.h>
REAL(CLzma)
BLOB_LZMA_FUNCTIONS(SAME)
#else
MISSING(CLzma)
#endif

#if __has_include(<zstd.h>)
#include <zstd.h>
#include <CZstd.h>
REAL(CZstd)
BLOB_ZSTD_FUNCTIONS(SAME)
#else
MISSING(CZstd)
#endif
