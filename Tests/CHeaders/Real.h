#define LIBRARIES(X) X(CArchive) X(CBzip2) X(CCurl) X(CIsal) X(CLzma) X(CZstd)

/// Returns the facts of a library's own header, in the order of Facts.h; NULL when it is not installed.
#define DECLARE_REAL(library) const struct header_fact *real_##library(void);
LIBRARIES(DECLARE_REAL)
