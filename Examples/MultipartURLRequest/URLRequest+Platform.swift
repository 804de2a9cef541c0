import Foundation

#if canImport(FoundationNetworking)
@_exported import FoundationNetworking

extension URLRequest {
    /// False, because a length set manually would be sent along with `Transfer-Encoding: chunked`, and no request may
    /// contain both (RFC 9112, section 6.2).
    static let sendsLengthOfStreams = false
}
#else
extension URLRequest {
    /// True, because a length set manually is used instead of chunks.
    static let sendsLengthOfStreams = true
}
#endif
