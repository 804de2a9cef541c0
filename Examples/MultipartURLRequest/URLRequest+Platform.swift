import Foundation

#if canImport(FoundationNetworking)
@_exported import FoundationNetworking

extension URLRequest {
    /// False: a manually set length would be sent beside `Transfer-Encoding: chunked`, which no request may have (RFC
    /// 9112, section 6.2).
    static let sendsLengthOfStreams = false
}
#else
extension URLRequest {
    /// True: a manually set length is used instead of chunks.
    static let sendsLengthOfStreams = true
}
#endif
