// The facts in our headers of each library, `X(an integer)`, that are compared with those in its own.

#define FACTS_CArchive(X) \
    X(ARCHIVE_EOF) X(ARCHIVE_OK) X(ARCHIVE_WARN) X(ARCHIVE_FATAL) X(ARCHIVE_FILTER_BZIP2) X(ARCHIVE_FILTER_COMPRESS) \
    X(ARCHIVE_FILTER_LZMA) \
    X(ARCHIVE_FILTER_XZ) X(ARCHIVE_FILTER_LZIP) X(ARCHIVE_FILTER_LZ4) X(ARCHIVE_FILTER_ZSTD) X(sizeof(la_int64_t)) \
    X(sizeof(la_ssize_t))

#define FACTS_CBzip2(X) \
    X(BZ_OK) X(BZ_STREAM_END) X(BZ_MEM_ERROR) X(sizeof(bz_stream)) X(offsetof(bz_stream, next_in)) \
    X(offsetof(bz_stream, avail_in)) X(offsetof(bz_stream, total_in_lo32)) X(offsetof(bz_stream, total_in_hi32)) \
    X(offsetof(bz_stream, next_out)) X(offsetof(bz_stream, avail_out)) X(offsetof(bz_stream, total_out_lo32)) \
    X(offsetof(bz_stream, total_out_hi32)) X(offsetof(bz_stream, state)) X(offsetof(bz_stream, bzalloc)) \
    X(offsetof(bz_stream, bzfree)) X(offsetof(bz_stream, opaque))

#define FACTS_CCurl(X) \
    X(CURL_ERROR_SIZE) X(CURL_GLOBAL_DEFAULT) X(CURL_PREREQFUNC_OK) X(CURL_PREREQFUNC_ABORT) X(CURL_READFUNC_ABORT) \
    X(CURL_READFUNC_PAUSE) X(CURL_SEEKFUNC_FAIL) X(CURL_SOCKOPT_OK) X(CURL_WAIT_POLLIN) X(CURL_WRITEFUNC_PAUSE) \
    X(CURLPAUSE_CONT) X(CURLPROTO_HTTP) X(CURLPROTO_HTTPS) X(CURLU_DEFAULT_PORT) X(CURLU_PATH_AS_IS) \
    X(CURLU_URLDECODE) X(CURLU_URLENCODE) X(CURLE_OK) X(CURLE_UNSUPPORTED_PROTOCOL) X(CURLE_COULDNT_RESOLVE_PROXY) \
    X(CURLE_COULDNT_RESOLVE_HOST) X(CURLE_COULDNT_CONNECT) X(CURLE_WEIRD_SERVER_REPLY) X(CURLE_PARTIAL_FILE) \
    X(CURLE_OUT_OF_MEMORY) X(CURLE_OPERATION_TIMEDOUT) X(CURLE_SSL_CONNECT_ERROR) X(CURLE_UNKNOWN_OPTION) \
    X(CURLE_GOT_NOTHING) X(CURLE_SSL_CERTPROBLEM) X(CURLE_SSL_CIPHER) X(CURLE_PEER_FAILED_VERIFICATION) \
    X(CURLE_BAD_CONTENT_ENCODING) X(CURLE_SEND_FAIL_REWIND) X(CURLE_SSL_CACERT_BADFILE) X(CURLE_SSL_ISSUER_ERROR) \
    X(CURLE_SSL_PINNEDPUBKEYNOTMATCH) X(CURLE_SSL_INVALIDCERTSTATUS) X(CURLM_OK) X(CURLM_OUT_OF_MEMORY) \
    X(CURLM_UNRECOVERABLE_POLL) X(CURLUE_OK) X(CURLUE_MALFORMED_INPUT) X(CURLUE_OUT_OF_MEMORY) X(CURLOPT_NOPROGRESS) \
    X(CURLOPT_NOBODY) X(CURLOPT_UPLOAD) X(CURLOPT_POST) X(CURLOPT_NETRC) X(CURLOPT_FOLLOWLOCATION) \
    X(CURLOPT_SSL_VERIFYPEER) X(CURLOPT_FRESH_CONNECT) X(CURLOPT_FORBID_REUSE) X(CURLOPT_SSL_VERIFYHOST) \
    X(CURLOPT_HTTP_VERSION) X(CURLOPT_BUFFERSIZE) X(CURLOPT_NOSIGNAL) X(CURLOPT_CONNECTTIMEOUT_MS) \
    X(CURLOPT_EXPECT_100_TIMEOUT_MS) X(CURLOPT_PATH_AS_IS) X(CURLOPT_PIPEWAIT) X(CURLOPT_SUPPRESS_CONNECT_HEADERS) \
    X(CURLOPT_UPLOAD_BUFFERSIZE) X(CURLOPT_HTTP09_ALLOWED) X(CURLOPT_QUICK_EXIT) X(CURLOPT_WRITEDATA) X(CURLOPT_URL) \
    X(CURLOPT_PROXY) X(CURLOPT_READDATA) X(CURLOPT_ERRORBUFFER) X(CURLOPT_POSTFIELDS) X(CURLOPT_HTTPHEADER) \
    X(CURLOPT_SSLCERT) X(CURLOPT_KEYPASSWD) X(CURLOPT_HEADERDATA) X(CURLOPT_CUSTOMREQUEST) X(CURLOPT_XFERINFODATA) \
    X(CURLOPT_CAINFO) X(CURLOPT_SSLKEY) X(CURLOPT_SHARE) X(CURLOPT_NETRC_FILE) X(CURLOPT_SOCKOPTDATA) \
    X(CURLOPT_USERNAME) X(CURLOPT_PASSWORD) X(CURLOPT_CLOSESOCKETDATA) X(CURLOPT_PREREQDATA) \
    X(CURLOPT_PROTOCOLS_STR) X(CURLOPT_REDIR_PROTOCOLS_STR) X(CURLOPT_WRITEFUNCTION) X(CURLOPT_READFUNCTION) \
    X(CURLOPT_HEADERFUNCTION) X(CURLOPT_SOCKOPTFUNCTION) X(CURLOPT_SEEKFUNCTION) X(CURLOPT_CLOSESOCKETFUNCTION) \
    X(CURLOPT_XFERINFOFUNCTION) X(CURLOPT_PREREQFUNCTION) X(CURLOPT_INFILESIZE_LARGE) X(CURLOPT_POSTFIELDSIZE_LARGE) \
    X(CURLINFO_OS_ERRNO) X(CURLINFO_NUM_CONNECTS) X(CURLINFO_SIZE_UPLOAD_T) X(CURLINFO_NAMELOOKUP_TIME_T) \
    X(CURLUPART_URL) X(CURLUPART_SCHEME) X(CURLUPART_USER) X(CURLUPART_PASSWORD) X(CURLUPART_HOST) X(CURLUPART_PORT) \
    X(CURLUPART_PATH) X(CURLUPART_FRAGMENT) X(CURLUPART_ZONEID) X(CURLMSG_DONE) X(CURLSHE_OK) X(CURLSHOPT_SHARE) \
    X(CURL_LOCK_DATA_SSL_SESSION) X(CURLVERSION_FIRST) X(CURLSOCKTYPE_IPCXN) X(CURL_NETRC_REQUIRED) \
    X(CURL_HTTP_VERSION_1_1) X(CURL_HTTP_VERSION_2TLS) X(sizeof(curl_off_t)) X(sizeof(curl_socket_t)) \
    X(sizeof(CURLcode)) \
    X(sizeof(CURLoption)) X(sizeof(CURLINFO)) X(sizeof(CURLMcode)) X(sizeof(CURLUcode)) X(sizeof(CURLUPart)) \
    X(sizeof(struct curl_slist)) X(offsetof(struct curl_slist, data)) X(offsetof(struct curl_slist, next)) \
    X(sizeof(struct curl_waitfd)) X(offsetof(struct curl_waitfd, fd)) X(offsetof(struct curl_waitfd, events)) \
    X(offsetof(struct curl_waitfd, revents)) X(sizeof(CURLMsg)) X(offsetof(CURLMsg, msg)) \
    X(offsetof(CURLMsg, easy_handle)) X(offsetof(CURLMsg, data.result)) X(offsetof(curl_version_info_data, age)) \
    X(offsetof(curl_version_info_data, version)) X(offsetof(curl_version_info_data, version_num))

#define FACTS_CIsal(X) \
    X(ISAL_DEFLATE) X(ISAL_DECOMP_OK) X(ISAL_INVALID_BLOCK) X(ISAL_INVALID_SYMBOL) X(ISAL_INVALID_LOOKBACK) \
    X(ISAL_BLOCK_NEW_HDR) X(ISAL_BLOCK_TYPE0) X(ISAL_BLOCK_CODED) X(ISAL_BLOCK_INPUT_DONE) X(ISAL_BLOCK_FINISH) \
    X(sizeof(struct inflate_state)) X(offsetof(struct inflate_state, next_out)) \
    X(offsetof(struct inflate_state, avail_out)) X(offsetof(struct inflate_state, total_out)) \
    X(offsetof(struct inflate_state, next_in)) X(offsetof(struct inflate_state, read_in)) \
    X(offsetof(struct inflate_state, avail_in)) X(offsetof(struct inflate_state, read_in_length)) \
    X(offsetof(struct inflate_state, lit_huff_code)) X(offsetof(struct inflate_state, dist_huff_code)) \
    X(offsetof(struct inflate_state, block_state)) X(offsetof(struct inflate_state, dict_length)) \
    X(offsetof(struct inflate_state, bfinal)) X(offsetof(struct inflate_state, crc_flag)) \
    X(offsetof(struct inflate_state, crc)) X(offsetof(struct inflate_state, hist_bits)) \
    X(offsetof(struct inflate_state, count)) X(offsetof(struct inflate_state, write_overflow_lits)) \
    X(offsetof(struct inflate_state, write_overflow_len)) X(offsetof(struct inflate_state, copy_overflow_length)) \
    X(offsetof(struct inflate_state, copy_overflow_distance)) X(offsetof(struct inflate_state, wrapper_flag)) \
    X(offsetof(struct inflate_state, tmp_in_size)) X(offsetof(struct inflate_state, tmp_out_valid)) \
    X(offsetof(struct inflate_state, tmp_out_processed)) X(offsetof(struct inflate_state, tmp_in_buffer)) \
    X(offsetof(struct inflate_state, tmp_out_buffer))

#define FACTS_CLzma(X) \
    X(LZMA_FILTERS_MAX) X(LZMA_STREAM_HEADER_SIZE) X(LZMA_BLOCK_HEADER_SIZE_MAX) X(LZMA_CHECK_SIZE_MAX) X(LZMA_OK) \
    X(LZMA_STREAM_END) X(LZMA_MEM_ERROR) X(LZMA_BUF_ERROR) X(LZMA_RUN) X(LZMA_CHECK_NONE) X(sizeof(lzma_allocator)) \
    X(offsetof(lzma_allocator, alloc)) X(offsetof(lzma_allocator, free)) X(offsetof(lzma_allocator, opaque)) \
    X(sizeof(lzma_bool)) X(sizeof(lzma_vli)) X(sizeof(lzma_stream)) X(offsetof(lzma_stream, next_in)) \
    X(offsetof(lzma_stream, avail_in)) X(offsetof(lzma_stream, total_in)) X(offsetof(lzma_stream, next_out)) \
    X(offsetof(lzma_stream, avail_out)) X(offsetof(lzma_stream, total_out)) X(offsetof(lzma_stream, allocator)) \
    X(offsetof(lzma_stream, internal)) X(offsetof(lzma_stream, seek_pos)) X(sizeof(lzma_filter)) \
    X(offsetof(lzma_filter, id)) X(offsetof(lzma_filter, options)) X(sizeof(lzma_block)) \
    X(offsetof(lzma_block, version)) X(offsetof(lzma_block, header_size)) X(offsetof(lzma_block, check)) \
    X(offsetof(lzma_block, compressed_size)) X(offsetof(lzma_block, uncompressed_size)) \
    X(offsetof(lzma_block, filters)) X(offsetof(lzma_block, raw_check)) X(offsetof(lzma_block, ignore_check)) \
    X(sizeof(lzma_stream_flags)) X(offsetof(lzma_stream_flags, version)) \
    X(offsetof(lzma_stream_flags, backward_size)) X(offsetof(lzma_stream_flags, check)) X(sizeof(lzma_options_bcj)) \
    X(offsetof(lzma_options_bcj, start_offset)) X(sizeof(lzma_options_lzma)) \
    X(offsetof(lzma_options_lzma, dict_size)) X(offsetof(lzma_options_lzma, preset_dict)) \
    X(offsetof(lzma_options_lzma, preset_dict_size)) X(offsetof(lzma_options_lzma, lc)) \
    X(offsetof(lzma_options_lzma, lp)) X(offsetof(lzma_options_lzma, pb)) X(offsetof(lzma_options_lzma, mode)) \
    X(offsetof(lzma_options_lzma, nice_len)) X(offsetof(lzma_options_lzma, mf)) \
    X(offsetof(lzma_options_lzma, depth)) X(offsetof(lzma_options_lzma, ext_flags)) \
    X(offsetof(lzma_options_lzma, ext_size_low)) X(offsetof(lzma_options_lzma, ext_size_high))

#define FACTS_CZstd(X) \
    X(ZSTD_d_windowLogMax) X(sizeof(ZSTD_inBuffer)) X(offsetof(ZSTD_inBuffer, src)) X(offsetof(ZSTD_inBuffer, size)) \
    X(offsetof(ZSTD_inBuffer, pos)) X(sizeof(ZSTD_outBuffer)) X(offsetof(ZSTD_outBuffer, dst)) \
    X(offsetof(ZSTD_outBuffer, size)) X(offsetof(ZSTD_outBuffer, pos))
