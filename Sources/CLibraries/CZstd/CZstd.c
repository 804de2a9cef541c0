#include "CZstd.h"

BLOB_TABLE(blob_libzstd, BLOB_ZSTD_FUNCTIONS)

const char *blob_zstd_load(void) { return load_functions(); }

BLOB_ZSTD_FUNCTIONS(BLOB_DEFINE)
