#ifndef BLOB_CCURL_H
#define BLOB_CCURL_H

// libcurl, version 7.80 or later, loaded at first use. Declares the parts of its interface in use, under their own
// names; the tests compare them with its headers, which BLOB_LIBRARY_HEADERS includes instead. A variadic function,
// which Swift cannot call, has a wrapper for each type of argument.
#include <CLoading.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifndef BLOB_LIBRARY_HEADERS

typedef void CURL;
typedef void CURLM;
typedef void CURLSH;
typedef struct Curl_URL CURLU;
typedef int64_t curl_off_t;
typedef int curl_socket_t;

typedef enum {
    CURLE_OK = 0,
    CURLE_UNSUPPORTED_PROTOCOL = 1,
    CURLE_COULDNT_RESOLVE_PROXY = 5,
    CURLE_COULDNT_RESOLVE_HOST = 6,
    CURLE_COULDNT_CONNECT = 7,
    CURLE_WEIRD_SERVER_REPLY = 8,
    CURLE_PARTIAL_FILE = 18,
    CURLE_OUT_OF_MEMORY = 27,
    CURLE_OPERATION_TIMEDOUT = 28,
    CURLE_SSL_CONNECT_ERROR = 35,
    CURLE_UNKNOWN_OPTION = 48,
    CURLE_GOT_NOTHING = 52,
    CURLE_SSL_CERTPROBLEM = 58,
    CURLE_SSL_CIPHER = 59,
    CURLE_PEER_FAILED_VERIFICATION = 60,
    CURLE_BAD_CONTENT_ENCODING = 61,
    CURLE_SEND_FAIL_REWIND = 65,
    CURLE_SSL_CACERT_BADFILE = 77,
    CURLE_SSL_ISSUER_ERROR = 83,
    CURLE_SSL_PINNEDPUBKEYNOTMATCH = 90,
    CURLE_SSL_INVALIDCERTSTATUS = 91,
} CURLcode;

typedef enum {
    CURLM_OK = 0,
    CURLM_OUT_OF_MEMORY = 3,
    CURLM_UNRECOVERABLE_POLL = 12,
} CURLMcode;

typedef enum {
    CURLUE_OK = 0,
    CURLUE_MALFORMED_INPUT = 3,
    CURLUE_OUT_OF_MEMORY = 7,
} CURLUcode;

/// The thousands digits of an option encode the type of its value: a long, a pointer, a function or a curl_off_t.
typedef enum {
    CURLOPT_NOPROGRESS = 43,
    CURLOPT_NOBODY = 44,
    CURLOPT_UPLOAD = 46,
    CURLOPT_POST = 47,
    CURLOPT_NETRC = 51,
    CURLOPT_FOLLOWLOCATION = 52,
    CURLOPT_SSL_VERIFYPEER = 64,
    CURLOPT_FRESH_CONNECT = 74,
    CURLOPT_FORBID_REUSE = 75,
    CURLOPT_SSL_VERIFYHOST = 81,
    CURLOPT_HTTP_VERSION = 84,
    CURLOPT_BUFFERSIZE = 98,
    CURLOPT_NOSIGNAL = 99,
    CURLOPT_CONNECTTIMEOUT_MS = 156,
    CURLOPT_EXPECT_100_TIMEOUT_MS = 227,
    CURLOPT_PATH_AS_IS = 234,
    CURLOPT_PIPEWAIT = 237,
    CURLOPT_SUPPRESS_CONNECT_HEADERS = 265,
    CURLOPT_UPLOAD_BUFFERSIZE = 280,
    CURLOPT_HTTP09_ALLOWED = 285,
    CURLOPT_QUICK_EXIT = 322,
    CURLOPT_WRITEDATA = 10001,
    CURLOPT_URL = 10002,
    CURLOPT_PROXY = 10004,
    CURLOPT_READDATA = 10009,
    CURLOPT_ERRORBUFFER = 10010,
    CURLOPT_POSTFIELDS = 10015,
    CURLOPT_HTTPHEADER = 10023,
    CURLOPT_SSLCERT = 10025,
    CURLOPT_KEYPASSWD = 10026,
    CURLOPT_HEADERDATA = 10029,
    CURLOPT_CUSTOMREQUEST = 10036,
    CURLOPT_XFERINFODATA = 10057,
    CURLOPT_CAINFO = 10065,
    CURLOPT_SSLKEY = 10087,
    CURLOPT_SHARE = 10100,
    CURLOPT_NETRC_FILE = 10118,
    CURLOPT_SOCKOPTDATA = 10149,
    CURLOPT_USERNAME = 10173,
    CURLOPT_PASSWORD = 10174,
    CURLOPT_CLOSESOCKETDATA = 10209,
    CURLOPT_PREREQDATA = 10313,
    CURLOPT_PROTOCOLS_STR = 10318,
    CURLOPT_REDIR_PROTOCOLS_STR = 10319,
    CURLOPT_WRITEFUNCTION = 20011,
    CURLOPT_READFUNCTION = 20012,
    CURLOPT_HEADERFUNCTION = 20079,
    CURLOPT_SOCKOPTFUNCTION = 20148,
    CURLOPT_SEEKFUNCTION = 20167,
    CURLOPT_CLOSESOCKETFUNCTION = 20208,
    CURLOPT_XFERINFOFUNCTION = 20219,
    CURLOPT_PREREQFUNCTION = 20312,
    CURLOPT_INFILESIZE_LARGE = 30115,
    CURLOPT_POSTFIELDSIZE_LARGE = 30120,
} CURLoption;

/// The upper digits encode the type of the value: a long or a curl_off_t.
typedef enum {
    CURLINFO_OS_ERRNO = 0x200019,
    CURLINFO_NUM_CONNECTS = 0x20001A,
    CURLINFO_SIZE_UPLOAD_T = 0x600007,
    CURLINFO_NAMELOOKUP_TIME_T = 0x600033,
} CURLINFO;

typedef enum {
    CURLUPART_URL = 0,
    CURLUPART_SCHEME = 1,
    CURLUPART_USER = 2,
    CURLUPART_PASSWORD = 3,
    CURLUPART_HOST = 5,
    CURLUPART_PORT = 6,
    CURLUPART_PATH = 7,
    CURLUPART_FRAGMENT = 9,
    CURLUPART_ZONEID = 10,
} CURLUPart;

typedef enum { CURLMSG_DONE = 1 } CURLMSG;
typedef enum { CURLSHE_OK = 0 } CURLSHcode;
typedef enum { CURLSHOPT_SHARE = 1 } CURLSHoption;
typedef enum { CURL_LOCK_DATA_SSL_SESSION = 4 } curl_lock_data;
typedef enum { CURLVERSION_FIRST = 0 } CURLversion;
typedef enum { CURLSOCKTYPE_IPCXN = 0 } curlsocktype;
enum CURL_NETRC_OPTION { CURL_NETRC_REQUIRED = 2 };
enum { CURL_HTTP_VERSION_1_1 = 2, CURL_HTTP_VERSION_2TLS = 4 };

#define CURL_ERROR_SIZE 256
#define CURL_GLOBAL_DEFAULT 3
#define CURL_PREREQFUNC_OK 0
#define CURL_PREREQFUNC_ABORT 1
#define CURL_READFUNC_ABORT 0x10000000
#define CURL_READFUNC_PAUSE 0x10000001
#define CURL_SEEKFUNC_FAIL 1
#define CURL_SOCKOPT_OK 0
#define CURL_WAIT_POLLIN 0x0001
#define CURL_WRITEFUNC_PAUSE 0x10000001
#define CURLPAUSE_CONT 0
#define CURLPROTO_HTTP (1 << 0)
#define CURLPROTO_HTTPS (1 << 1)
#define CURLU_DEFAULT_PORT (1 << 0)
#define CURLU_PATH_AS_IS (1 << 4)
#define CURLU_URLDECODE (1 << 6)
#define CURLU_URLENCODE (1 << 7)

struct curl_slist {
    char *data;
    struct curl_slist *next;
};

struct curl_waitfd {
    curl_socket_t fd;
    short events, revents;
};

typedef struct {
    CURLMSG msg;
    CURL *easy_handle;
    union {
        void *whatever;
        CURLcode result;
    } data;
} CURLMsg;

/// The first fields of libcurl's version information.
typedef struct {
    CURLversion age;
    const char *version;
    unsigned int version_num;
} curl_version_info_data;

typedef size_t (*curl_read_callback)(char *buffer, size_t size, size_t count, void *data);
typedef size_t (*curl_write_callback)(char *buffer, size_t size, size_t count, void *data);
typedef int (*curl_seek_callback)(void *data, curl_off_t offset, int origin);
typedef int (*curl_xferinfo_callback)(
    void *data, curl_off_t download_total, curl_off_t downloaded, curl_off_t upload_total, curl_off_t uploaded);
typedef int (*curl_closesocket_callback)(void *data, curl_socket_t socket);
typedef int (*curl_sockopt_callback)(void *data, curl_socket_t socket, curlsocktype purpose);
typedef int (*curl_prereq_callback)(
    void *data, char *remote_address, char *local_address, int remote_port, int local_port);

#endif

/// The functions of libcurl in use.
#define BLOB_CURL_FUNCTIONS(X) \
    X(CURLcode, curl_global_init, (long flags), ()) \
    X(curl_version_info_data *, curl_version_info, (CURLversion age), ()) \
    X(CURL *, curl_easy_init, (void), ()) \
    X(void, curl_easy_cleanup, (CURL *easy), ()) \
    X(const char *, curl_easy_strerror, (CURLcode code), ()) \
    X(CURLcode, curl_easy_pause, (CURL *easy, int bits), ()) \
    X(CURLcode, curl_easy_setopt, (CURL *easy, CURLoption option, ...), ()) \
    X(CURLcode, curl_easy_getinfo, (CURL *easy, CURLINFO info, ...), ()) \
    X(struct curl_slist *, curl_slist_append, (struct curl_slist *list, const char *text), ()) \
    X(void, curl_slist_free_all, (struct curl_slist *list), ()) \
    X(CURLM *, curl_multi_init, (void), ()) \
    X(CURLMcode, curl_multi_cleanup, (CURLM *multi), ()) \
    X(CURLMcode, curl_multi_add_handle, (CURLM *multi, CURL *easy), ()) \
    X(CURLMcode, curl_multi_remove_handle, (CURLM *multi, CURL *easy), ()) \
    X(CURLMcode, curl_multi_perform, (CURLM *multi, int *running), ()) \
    X(CURLMcode, curl_multi_poll, \
      (CURLM *multi, struct curl_waitfd *others, unsigned int count, int milliseconds, int *ready), ()) \
    X(CURLMcode, curl_multi_wakeup, (CURLM *multi), ()) \
    X(const char *, curl_multi_strerror, (CURLMcode code), ()) \
    X(CURLMsg *, curl_multi_info_read, (CURLM *multi, int *left), ()) \
    X(CURLSH *, curl_share_init, (void), ()) \
    X(CURLSHcode, curl_share_setopt, (CURLSH *share, CURLSHoption option, ...), ()) \
    X(CURLU *, curl_url, (void), ()) \
    X(void, curl_url_cleanup, (CURLU *url), ()) \
    X(CURLUcode, curl_url_set, (CURLU *url, CURLUPart part, const char *text, unsigned int flags), ()) \
    X(CURLUcode, curl_url_get, (CURLU *url, CURLUPart part, char **text, unsigned int flags), ()) \
    X(void, curl_free, (void *pointer), ()) \
    X(time_t, curl_getdate, (const char *text, const time_t *now), ())

/// Loads libcurl and initialises it. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread loads another library.
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
/// Returns a transfer of `multi` that has ended, with its result in `code`; NULL if none has ended.
CURL *blob_curl_multi_take_result(CURLM *multi, CURLcode *code);
/// Returns a new store of TLS sessions, for the transfers of one thread; NULL if out of memory.
CURLSH *blob_curl_share_sessions(void);

CURLU *blob_curl_url_init(void);
void blob_curl_url_cleanup(CURLU *url);
CURLUcode blob_curl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags);
/// Gets a part of a URL; the caller frees `text` with `blob_curl_free`.
CURLUcode blob_curl_url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags);
void blob_curl_free(void *pointer);

/// Returns the seconds since 1970 of a date in any of HTTP's formats; -1 for any other text.
time_t blob_curl_date(const char *text);

#endif
