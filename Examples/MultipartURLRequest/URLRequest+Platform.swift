import Foundation

#if canImport(FoundationNetworking)
@_exported import FoundationNetworking

extension URLRequest {
    /// False: a length set by hand would be sent beside `Transfer-Encoding: chunked`, which no request may have
    /// (RFC 9112, section 6.2).
    static let sendsLengthOfStreams = false
}
#else
extension URLRequest {
    /// True: a length set by hand is used instead of chunks.
    static let sendsLengthOfStreams = true
}
#endif
