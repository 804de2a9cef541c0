#include "CBzip2.h"

BLOB_TABLE(blob_libbz2, BLOB_BZIP2_FUNCTIONS)

const char *blob_bzip2_load(void) { return load_functions(); }

BLOB_BZIP2_FUNCTIONS(BLOB_DEFINE)
