#include "CIsal.h"

BLOB_TABLE(blob_libisal, BLOB_ISAL_FUNCTIONS)

const char *blob_isal_load(void) { return load_functions(); }

BLOB_ISAL_FUNCTIONS(BLOB_DEFINE)
