#ifndef BLOB_CCURL_H
#define BLOB_CCURL_H

// Types and constants come from libcurl's headers. Its functions are called through a table that `blob_curl_load`
// fills, so that libcurl is not linked, and not loaded by a program that transfers nothing. A variadic function, which
// Swift cannot call, has a wrapper for each type of argument.
#include <curl/curl.h>

/// Loads libcurl and initialises it. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread calls `dlopen(3)` or `dlsym(3)` again.
const char *blob_curl_load(void);

/// The version of the loaded library: as a number, such as 0x075801 for 7.88.1, and as text.
unsigned int blob_curl_version_number(void);
const char *blob_curl_version_text(void);

CURL *blob_curl_easy_init(void);
void blob_curl_easy_cleanup(CURL *easy);
const char *blob_curl_easy_strerror(CURLcode code);
CURLcode blob_curl_easy_pause(CURL *easy, int bits);
CURLcode blob_curl_set_long(CURL *easy, CURLoption option, long value);
CURLcode blob_curl_set_offset(CURL *easy, CURLoption option, int64_t value);
CURLcode blob_curl_set_text(CURL *easy, CURLoption option, const char *text);
CURLcode blob_curl_set_pointer(CURL *easy, CURLoption option, void *pointer);
CURLcode blob_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *list);
CURLcode blob_curl_set_reader(CURL *easy, curl_read_callback reader);
CURLcode blob_curl_set_seeker(CURL *easy, curl_seek_callback seeker);
CURLcode blob_curl_set_writer(CURL *easy, CURLoption option, curl_write_callback writer);
CURLcode blob_curl_set_progress(CURL *easy, curl_xferinfo_callback progress);
CURLcode blob_curl_set_closer(CURL *easy, curl_closesocket_callback closer);
CURLcode blob_curl_set_socket_observer(CURL *easy, curl_sockopt_callback observer);
CURLcode blob_curl_set_prerequisite(CURL *easy, curl_prereq_callback prerequisite);
/// Restricts a transfer and its redirections to HTTP and HTTPS.
CURLcode blob_curl_set_http_only(CURL *easy);
CURLcode blob_curl_get_long(CURL *easy, CURLINFO info, long *value);
CURLcode blob_curl_get_offset(CURL *easy, CURLINFO info, int64_t *value);

struct curl_slist *blob_curl_list_append(struct curl_slist *list, const char *text);
void blob_curl_list_free(struct curl_slist *list);

CURLM *blob_curl_multi_init(void);
CURLMcode blob_curl_multi_cleanup(CURLM *multi);
CURLMcode blob_curl_multi_add(CURLM *multi, CURL *easy);
CURLMcode blob_curl_multi_remove(CURLM *multi, CURL *easy);
CURLMcode blob_curl_multi_perform(CURLM *multi, int *running);
CURLMcode blob_curl_multi_poll(CURLM *multi, struct curl_waitfd *others, unsigned int count, int milliseconds);
CURLMcode blob_curl_multi_wakeup(CURLM *multi);
const char *blob_curl_multi_strerror(CURLMcode code);
/// Returns a transfer of `multi` that has ended, with its result in `code`; NULL when there is none.
CURL *blob_curl_multi_take_result(CURLM *multi, CURLcode *code);
/// Returns a new store of TLS sessions, for the transfers of one thread; NULL without memory.
CURLSH *blob_curl_share_sessions(void);

CURLU *blob_curl_url_init(void);
void blob_curl_url_cleanup(CURLU *url);
CURLUcode blob_curl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags);
/// The caller frees `text` with `blob_curl_free`.
CURLUcode blob_curl_url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags);
void blob_curl_free(void *pointer);

/// Returns the seconds since 1970 of a date in any of HTTP's formats; -1 for anything else.
time_t blob_curl_date(const char *text);

#endif
