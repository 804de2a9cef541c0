#include "CCurl.h"

#include <dlfcn.h>
#include <stddef.h>

// `__typeof__` takes the prototypes from libcurl's headers, so that a mismatched call does not compile.
#define BLOB_CURL_FUNCTIONS(X) \
    X(curl_global_init) X(curl_version_info) \
    X(curl_easy_init) X(curl_easy_cleanup) X(curl_easy_strerror) X(curl_easy_pause) \
    X(curl_easy_setopt) X(curl_easy_getinfo) \
    X(curl_slist_append) X(curl_slist_free_all) \
    X(curl_multi_init) X(curl_multi_cleanup) X(curl_multi_add_handle) X(curl_multi_remove_handle) \
    X(curl_multi_perform) X(curl_multi_poll) X(curl_multi_wakeup) X(curl_multi_strerror) X(curl_multi_info_read) \
    X(curl_share_init) X(curl_share_setopt) X(curl_url) X(curl_url_cleanup) X(curl_url_set) X(curl_url_get) X(curl_free) X(curl_getdate)

static struct {
#define DECLARE(name) __typeof__(name) *name##_;
    BLOB_CURL_FUNCTIONS(DECLARE)
#undef DECLARE
} table;

// The second of Linux is that of Debian with GnuTLS; the last ones are of systems that number it in another way.
#if defined(__APPLE__)
static const char *const library_names[] = {"libcurl.4.dylib", "libcurl.dylib"};
#else
static const char *const library_names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};
#endif

const char *blob_curl_load(void) {
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof library_names / sizeof *library_names; i++)
        library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        // The message about the usual name.
        (void)dlopen(library_names[0], RTLD_NOW | RTLD_LOCAL);
        return dlerror();
    }
#define FIND(name) \
    table.name##_ = (__typeof__(table.name##_))dlsym(library, #name); \
    if (table.name##_ == NULL) return "it is too old: it has no " #name;
    BLOB_CURL_FUNCTIONS(FIND)
#undef FIND
    // The library is never closed, because its TLS library registers handlers for the end of the process.
    CURLcode code = table.curl_global_init_(CURL_GLOBAL_DEFAULT);
    return code == CURLE_OK ? NULL : table.curl_easy_strerror_(code);
}

unsigned int blob_curl_version_number(void) { return table.curl_version_info_(CURLVERSION_NOW)->version_num; }

const char *blob_curl_version_text(void) { return table.curl_version_info_(CURLVERSION_NOW)->version; }

CURL *blob_curl_easy_init(void) { return table.curl_easy_init_(); }

void blob_curl_easy_cleanup(CURL *easy) { table.curl_easy_cleanup_(easy); }

const char *blob_curl_easy_strerror(CURLcode code) { return table.curl_easy_strerror_(code); }

CURLcode blob_curl_easy_pause(CURL *easy, int bits) { return table.curl_easy_pause_(easy, bits); }

CURLcode blob_curl_set_long(CURL *easy, CURLoption option, long value) {
    return table.curl_easy_setopt_(easy, option, value);
}

CURLcode blob_curl_set_offset(CURL *easy, CURLoption option, int64_t value) {
    return table.curl_easy_setopt_(easy, option, (curl_off_t)value);
}

CURLcode blob_curl_set_text(CURL *easy, CURLoption option, const char *text) {
    return table.curl_easy_setopt_(easy, option, text);
}

CURLcode blob_curl_set_pointer(CURL *easy, CURLoption option, void *pointer) {
    return table.curl_easy_setopt_(easy, option, pointer);
}

CURLcode blob_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
    return table.curl_easy_setopt_(easy, option, list);
}

CURLcode blob_curl_set_reader(CURL *easy, curl_read_callback reader) {
    return table.curl_easy_setopt_(easy, CURLOPT_READFUNCTION, reader);
}

CURLcode blob_curl_set_seeker(CURL *easy, curl_seek_callback seeker) {
    return table.curl_easy_setopt_(easy, CURLOPT_SEEKFUNCTION, seeker);
}

CURLcode blob_curl_set_writer(CURL *easy, CURLoption option, curl_write_callback writer) {
    return table.curl_easy_setopt_(easy, option, writer);
}

CURLcode blob_curl_set_progress(CURL *easy, curl_xferinfo_callback progress) {
    return table.curl_easy_setopt_(easy, CURLOPT_XFERINFOFUNCTION, progress);
}

CURLcode blob_curl_set_closer(CURL *easy, curl_closesocket_callback closer) {
    return table.curl_easy_setopt_(easy, CURLOPT_CLOSESOCKETFUNCTION, closer);
}

CURLcode blob_curl_set_socket_observer(CURL *easy, curl_sockopt_callback observer) {
    return table.curl_easy_setopt_(easy, CURLOPT_SOCKOPTFUNCTION, observer);
}

CURLcode blob_curl_set_prerequisite(CURL *easy, curl_prereq_callback prerequisite) {
    return table.curl_easy_setopt_(easy, CURLOPT_PREREQFUNCTION, prerequisite);
}

CURLcode blob_curl_set_http_only(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
    CURLcode code = table.curl_easy_setopt_(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (code == CURLE_OK) return table.curl_easy_setopt_(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    if (code != CURLE_UNKNOWN_OPTION) return code;
#endif
    // The loaded library may be older than the headers. Options 181 and 182, the deprecated CURLOPT_PROTOCOLS and
    // CURLOPT_REDIR_PROTOCOLS, work in all of versions 7 and 8.
    const CURLoption protocols = (CURLoption)(CURLOPTTYPE_LONG + 181);
    const CURLoption redirections = (CURLoption)(CURLOPTTYPE_LONG + 182);
    CURLcode old = table.curl_easy_setopt_(easy, protocols, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    if (old != CURLE_OK) return old;
    return table.curl_easy_setopt_(easy, redirections, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
}

CURLcode blob_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return table.curl_easy_getinfo_(easy, info, value);
}

CURLcode blob_curl_get_offset(CURL *easy, CURLINFO info, int64_t *value) {
    curl_off_t offset = 0;
    CURLcode code = table.curl_easy_getinfo_(easy, info, &offset);
    *value = offset;
    return code;
}

struct curl_slist *blob_curl_list_append(struct curl_slist *list, const char *text) {
    return table.curl_slist_append_(list, text);
}

void blob_curl_list_free(struct curl_slist *list) { table.curl_slist_free_all_(list); }

CURLM *blob_curl_multi_init(void) { return table.curl_multi_init_(); }

CURLMcode blob_curl_multi_cleanup(CURLM *multi) { return table.curl_multi_cleanup_(multi); }

CURLMcode blob_curl_multi_add(CURLM *multi, CURL *easy) { return table.curl_multi_add_handle_(multi, easy); }

CURLMcode blob_curl_multi_remove(CURLM *multi, CURL *easy) { return table.curl_multi_remove_handle_(multi, easy); }

CURLMcode blob_curl_multi_perform(CURLM *multi, int *running) { return table.curl_multi_perform_(multi, running); }

CURLMcode blob_curl_multi_poll(CURLM *multi, struct curl_waitfd *others, unsigned int count, int milliseconds) {
    return table.curl_multi_poll_(multi, others, count, milliseconds, NULL);
}

CURLMcode blob_curl_multi_wakeup(CURLM *multi) { return table.curl_multi_wakeup_(multi); }

const char *blob_curl_multi_strerror(CURLMcode code) { return table.curl_multi_strerror_(code); }

CURL *blob_curl_multi_take_result(CURLM *multi, CURLcode *code) {
    int left = 0;
    for (CURLMsg *message; (message = table.curl_multi_info_read_(multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) continue;
        *code = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

CURLSH *blob_curl_share_sessions(void) {
    CURLSH *share = table.curl_share_init_();
    if (share != NULL) table.curl_share_setopt_(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return share;
}

CURLU *blob_curl_url_init(void) { return table.curl_url_(); }

void blob_curl_url_cleanup(CURLU *url) { table.curl_url_cleanup_(url); }

CURLUcode blob_curl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags) {
    return table.curl_url_set_(url, part, text, flags);
}

CURLUcode blob_curl_url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags) {
    return table.curl_url_get_(url, part, text, flags);
}

time_t blob_curl_date(const char *text) { return table.curl_getdate_(text, NULL); }

void blob_curl_free(void *pointer) { table.curl_free_(pointer); }
