import Foundation

// Imports URLSession for all files of this module, on platforms where it is not part of Foundation.
#if canImport(FoundationNetworking)
@_exported import FoundationNetworking

extension URLSession.AuthChallengeDisposition {
    /// Ends the task with the response that contains the challenge. The default handling waits forever (Swift 6.3 and
    /// earlier, github.com/swiftlang/swift-corelibs-foundation/issues/5456), and never finds a stored credential.
    static let decliningWithResponse = Self.cancelAuthenticationChallenge
}

extension BlobUploadBody {
    /// False, because a length set manually would be sent along with `Transfer-Encoding: chunked`, which no request may
    /// contain (RFC 9112, section 6.2).
    static let streamsHaveLengths = false
}

extension URLSessionUploader {
    /// The maximum length of a body that is read first and sent as data, with a `Content-Length`.
    static let maximumWholeBodyByteCount = 64 * 1024
}
#else
extension BlobUploadBody {
    /// True, because a length set manually is sent instead of chunks.
    static let streamsHaveLengths = true
}

extension URLSessionUploader {
    /// Negative, because stream bodies already have a `Content-Length`, so no body is read first.
    static let maximumWholeBodyByteCount = -1
}

extension URLSession.AuthChallengeDisposition {
    /// Ends the task with the response that contains the challenge, unless a credential is stored.
    static let decliningWithResponse = Self.performDefaultHandling
}
#endif
