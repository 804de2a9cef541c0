package import CCurl

/// The kinds of libcurl's errors that callers tell apart.
package enum CurlFailure {
    /// There is no connection, because of the name, the address or a refusal.
    case noConnection
    /// There is no connection within its limit of time.
    case connectingTimedOut
    case noSecureConnection
    case notHTTP
    /// The body of the answer ended too early.
    case cutOff
    /// A line of the header has no end.
    case headerTooLarge
    /// The body of the request would have to be sent again.
    case needsRewind
    case noAnswer
    case brokenConnection

    package init(_ code: CURLcode) {
        self =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT: .noConnection
            case CURLE_OPERATION_TIMEDOUT: .connectingTimedOut
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
                CURLE_SSL_INVALIDCERTSTATUS:
                .noSecureConnection
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: .notHTTP
            case CURLE_PARTIAL_FILE: .cutOff
            // libcurl's result for a header line without an end.
            case CURLE_OUT_OF_MEMORY: .headerTooLarge
            case CURLE_SEND_FAIL_REWIND: .needsRewind
            case CURLE_GOT_NOTHING: .noAnswer
            default: .brokenConnection
            }
    }
}
