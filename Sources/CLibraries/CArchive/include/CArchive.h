#ifndef BLOB_CARCHIVE_H
#define BLOB_CARCHIVE_H

// libarchive, version 3.2 or later, loaded at first use: with libxml2, ICU and its other dependencies, it would add a
// millisecond and three megabytes to every start. Declares the parts of its interface in use, under their own names;
// the tests compare them with its headers, which BLOB_LIBRARY_HEADERS includes instead.
#include <CLoading.h>
#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#ifndef BLOB_LIBRARY_HEADERS

#define ARCHIVE_EOF 1
#define ARCHIVE_OK 0
#define ARCHIVE_WARN (-20)
#define ARCHIVE_FATAL (-30)

#define ARCHIVE_FILTER_BZIP2 2
#define ARCHIVE_FILTER_COMPRESS 3
#define ARCHIVE_FILTER_LZMA 5
#define ARCHIVE_FILTER_XZ 6
#define ARCHIVE_FILTER_LZIP 9
#define ARCHIVE_FILTER_LZ4 13
#define ARCHIVE_FILTER_ZSTD 14

struct archive;
struct archive_entry;
typedef int64_t la_int64_t;
typedef ssize_t la_ssize_t;
typedef la_ssize_t archive_read_callback(struct archive *archive, void *data, const void **buffer);
typedef la_int64_t archive_skip_callback(struct archive *archive, void *data, la_int64_t count);
typedef la_int64_t archive_seek_callback(struct archive *archive, void *data, la_int64_t offset, int whence);

#endif

/// Loads libarchive. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread loads another library.
const char *blob_archive_load(void);

/// The libarchive functions in use. Each is declared with the prefix `blob_`; libarchive documents them.
#define BLOB_ARCHIVE_FUNCTIONS(X) \
    X(struct archive *, archive_read_new, (void), ()) \
    X(int, archive_read_free, (struct archive *archive), (archive)) \
    X(const char *, archive_error_string, (struct archive *archive), (archive)) \
    X(const char *, archive_entry_hardlink, (struct archive_entry *entry), (entry)) \
    X(int, archive_entry_is_encrypted, (struct archive_entry *entry), (entry)) \
    X(mode_t, archive_entry_mode, (struct archive_entry *entry), (entry)) \
    X(time_t, archive_entry_mtime, (struct archive_entry *entry), (entry)) \
    X(int, archive_entry_mtime_is_set, (struct archive_entry *entry), (entry)) \
    X(long, archive_entry_mtime_nsec, (struct archive_entry *entry), (entry)) \
    X(unsigned int, archive_entry_nlink, (struct archive_entry *entry), (entry)) \
    X(const char *, archive_entry_pathname, (struct archive_entry *entry), (entry)) \
    X(const char *, archive_entry_pathname_utf8, (struct archive_entry *entry), (entry)) \
    X(la_int64_t, archive_entry_size, (struct archive_entry *entry), (entry)) \
    X(int, archive_entry_size_is_set, (struct archive_entry *entry), (entry)) \
    X(const char *, archive_entry_symlink, (struct archive_entry *entry), (entry)) \
    X(la_int64_t, archive_filter_bytes, (struct archive *archive, int number), (archive, number)) \
    X(int, archive_filter_count, (struct archive *archive), (archive)) \
    X(int, archive_read_add_passphrase, (struct archive *archive, const char *passphrase), (archive, passphrase)) \
    X(int, archive_read_append_filter, (struct archive *archive, int number), (archive, number)) \
    X(int, archive_read_data_block, (struct archive *archive, const void **buffer, size_t *count, la_int64_t *offset), (archive, buffer, count, offset)) \
    X(int, archive_read_data_skip, (struct archive *archive), (archive)) \
    X(int, archive_read_next_header, (struct archive *archive, struct archive_entry **entry), (archive, entry)) \
    X(int, archive_read_open1, (struct archive *archive), (archive)) \
    X(int, archive_read_set_callback_data, (struct archive *archive, void *data), (archive, data)) \
    X(int, archive_read_set_format_option, (struct archive *archive, const char *module, const char *option, const char *value), (archive, module, option, value)) \
    X(int, archive_read_set_read_callback, (struct archive *archive, archive_read_callback *callback), (archive, callback)) \
    X(int, archive_read_set_seek_callback, (struct archive *archive, archive_seek_callback *callback), (archive, callback)) \
    X(int, archive_read_set_skip_callback, (struct archive *archive, archive_skip_callback *callback), (archive, callback)) \
    X(int, archive_read_support_filter_compress, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_7zip, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_ar, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_cab, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_cpio, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_empty, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_iso9660, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_lha, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_rar, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_rar5, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_raw, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_tar, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_warc, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_xar, (struct archive *archive), (archive)) \
    X(int, archive_read_support_format_zip_streamable, (struct archive *archive), (archive))

BLOB_ARCHIVE_FUNCTIONS(BLOB_DECLARE)

/// Creates a locale whose characters are UTF-8, for ``blob_use_locale``; null if the system does not have one. Swift
/// does not import `LC_CTYPE_MASK`, nor `locale_t` on some systems.
static inline void *blob_make_utf8_locale(void) {
    return (void *)newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/// Sets the locale of the calling thread, or leaves it unchanged if `locale` is null. Returns the previous locale.
static inline void *blob_use_locale(void *locale) {
    return (void *)uselocale((locale_t)locale);
}

#endif
