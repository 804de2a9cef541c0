#include "CArchive.h"

BLOB_TABLE(blob_libarchive, BLOB_ARCHIVE_FUNCTIONS)

const char *blob_archive_load(void) { return load_functions(); }

BLOB_ARCHIVE_FUNCTIONS(BLOB_DEFINE)
