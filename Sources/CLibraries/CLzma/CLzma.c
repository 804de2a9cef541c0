#include "CLzma.h"

BLOB_TABLE(blob_liblzma, BLOB_LZMA_FUNCTIONS)

const char *blob_lzma_load(void) { return load_functions(); }

BLOB_LZMA_FUNCTIONS(BLOB_DEFINE)
