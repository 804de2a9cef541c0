#include "CCurl.h"

BLOB_TABLE(blob_libcurl, BLOB_CURL_FUNCTIONS)

const char *blob_curl_load(void) {
    const char *reason = load_functions();
    if (reason != NULL) return reason;
    // The library is never closed, because its TLS library registers handlers for the end of the process.
    CURLcode code = functions.curl_global_init(CURL_GLOBAL_DEFAULT);
    return code == CURLE_OK ? NULL : functions.curl_easy_strerror(code);
}

unsigned int blob_curl_version_number(void) { return functions.curl_version_info(CURLVERSION_FIRST)->version_num; }

const char *blob_curl_version_text(void) { return functions.curl_version_info(CURLVERSION_FIRST)->version; }

CURL *blob_curl_easy_init(void) { return functions.curl_easy_init(); }

void blob_curl_easy_cleanup(CURL *easy) { functions.curl_easy_cleanup(easy); }

const char *blob_curl_easy_strerror(CURLcode code) { return functions.curl_easy_strerror(code); }

CURLcode blob_curl_easy_pause(CURL *easy, int bits) { return functions.curl_easy_pause(easy, bits); }

CURLcode blob_curl_set_long(CURL *easy, CURLoption option, long value) {
    return functions.curl_easy_setopt(easy, option, value);
}

CURLcode blob_curl_set_offset(CURL *easy, CURLoption option, int64_t value) {
    return functions.curl_easy_setopt(easy, option, (curl_off_t)value);
}

CURLcode blob_curl_set_text(CURL *easy, CURLoption option, const char *text) {
    return functions.curl_easy_setopt(easy, option, text);
}

CURLcode blob_curl_set_pointer(CURL *easy, CURLoption option, void *pointer) {
    return functions.curl_easy_setopt(easy, option, pointer);
}

CURLcode blob_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
    return functions.curl_easy_setopt(easy, option, list);
}

CURLcode blob_curl_set_reader(CURL *easy, curl_read_callback reader) {
    return functions.curl_easy_setopt(easy, CURLOPT_READFUNCTION, reader);
}

CURLcode blob_curl_set_seeker(CURL *easy, curl_seek_callback seeker) {
    return functions.curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seeker);
}

CURLcode blob_curl_set_writer(CURL *easy, CURLoption option, curl_write_callback writer) {
    return functions.curl_easy_setopt(easy, option, writer);
}

CURLcode blob_curl_set_progress(CURL *easy, curl_xferinfo_callback progress) {
    return functions.curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progress);
}

CURLcode blob_curl_set_closer(CURL *easy, curl_closesocket_callback closer) {
    return functions.curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, closer);
}

CURLcode blob_curl_set_socket_observer(CURL *easy, curl_sockopt_callback observer) {
    return functions.curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, observer);
}

CURLcode blob_curl_set_prerequisite(CURL *easy, curl_prereq_callback prerequisite) {
    return functions.curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, prerequisite);
}

CURLcode blob_curl_set_http_only(CURL *easy) {
    CURLcode code = functions.curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (code == CURLE_OK) return functions.curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    if (code != CURLE_UNKNOWN_OPTION) return code;
    // Versions before 7.85 only have the deprecated CURLOPT_PROTOCOLS and CURLOPT_REDIR_PROTOCOLS, which take numbers.
    const CURLoption protocols = (CURLoption)181;
    const CURLoption redirections = (CURLoption)182;
    CURLcode old = functions.curl_easy_setopt(easy, protocols, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    if (old != CURLE_OK) return old;
    return functions.curl_easy_setopt(easy, redirections, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
}

CURLcode blob_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return functions.curl_easy_getinfo(easy, info, value);
}

CURLcode blob_curl_get_offset(CURL *easy, CURLINFO info, int64_t *value) {
    curl_off_t offset = 0;
    CURLcode code = functions.curl_easy_getinfo(easy, info, &offset);
    *value = offset;
    return code;
}

struct curl_slist *blob_curl_list_append(struct curl_slist *list, const char *text) {
    return functions.curl_slist_append(list, text);
}

void blob_curl_list_free(struct curl_slist *list) { functions.curl_slist_free_all(list); }

CURLM *blob_curl_multi_init(void) { return functions.curl_multi_init(); }

CURLMcode blob_curl_multi_cleanup(CURLM *multi) { return functions.curl_multi_cleanup(multi); }

CURLMcode blob_curl_multi_add(CURLM *multi, CURL *easy) { return functions.curl_multi_add_handle(multi, easy); }

CURLMcode blob_curl_multi_remove(CURLM *multi, CURL *easy) { return functions.curl_multi_remove_handle(multi, easy); }

CURLMcode blob_curl_multi_perform(CURLM *multi, int *running) { return functions.curl_multi_perform(multi, running); }

CURLMcode blob_curl_multi_poll(CURLM *multi, struct curl_waitfd *others, unsigned int count, int milliseconds) {
    return functions.curl_multi_poll(multi, others, count, milliseconds, NULL);
}

CURLMcode blob_curl_multi_wakeup(CURLM *multi) { return functions.curl_multi_wakeup(multi); }

const char *blob_curl_multi_strerror(CURLMcode code) { return functions.curl_multi_strerror(code); }

CURL *blob_curl_multi_take_result(CURLM *multi, CURLcode *code) {
    int left = 0;
    for (CURLMsg *message; (message = functions.curl_multi_info_read(multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) continue;
        *code = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

CURLSH *blob_curl_share_sessions(void) {
    CURLSH *share = functions.curl_share_init();
    if (share != NULL) functions.curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return share;
}

CURLU *blob_curl_url_init(void) { return functions.curl_url(); }

void blob_curl_url_cleanup(CURLU *url) { functions.curl_url_cleanup(url); }

CURLUcode blob_curl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags) {
    return functions.curl_url_set(url, part, text, flags);
}

CURLUcode blob_curl_url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags) {
    return functions.curl_url_get(url, part, text, flags);
}

time_t blob_curl_date(const char *text) { return functions.curl_getdate(text, NULL); }

void blob_curl_free(void *pointer) { functions.curl_free(pointer); }
