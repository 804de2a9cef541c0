#ifndef BLOB_CARCHIVE_H
#define BLOB_CARCHIVE_H

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/// The locale whose characters are UTF-8, for one thread at a time; null when the system has none. Swift does not see
/// the mask, nor on every system the type.
static inline void *blob_make_utf8_locale(void) {
    return (void *)newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/// Gives this thread a locale, null leaves it what it has; returns the one it had.
static inline void *blob_use_locale(void *locale) {
    return (void *)uselocale((locale_t)locale);
}

#endif
