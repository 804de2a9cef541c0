import Foundation

#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking

    extension URLRequest {
        /// A length that is set by hand is sent beside `Transfer-Encoding: chunked`, which no request may have
        /// (RFC 9112, section 6.2).
        static let sendsLengthOfStreams = false
    }
#else
    extension URLRequest {
        /// A length that is set is used, instead of chunks.
        static let sendsLengthOfStreams = true
    }
#endif
