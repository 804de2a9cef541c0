import Foundation

// Imports URLSession where it is not part of Foundation, for all files of this module.
#if canImport(FoundationNetworking)
@_exported import FoundationNetworking

extension URLSession.AuthChallengeDisposition {
    /// Ends the task with the response that holds the challenge. The default handling waits for ever (Swift 6.3 and
    /// before, github.com/swiftlang/swift-corelibs-foundation/issues/5456), and never finds a stored credential.
    static let decliningWithResponse = Self.cancelAuthenticationChallenge
}

extension BlobUploadBody {
    /// False: a length set by hand would be sent beside `Transfer-Encoding: chunked`, which no request may have
    /// (RFC 9112, section 6.2).
    static let streamsHaveLengths = false
}

extension URLSessionUploader {
    /// The maximum length of bodies that are read first and sent as data, which has a `Content-Length`.
    static let wholeBodyLimit = 64 * 1024
}
#else
extension BlobUploadBody {
    /// True: a length set by hand is sent instead of chunks.
    static let streamsHaveLengths = true
}

extension URLSessionUploader {
    /// Negative: stream bodies have a `Content-Length` themselves, so none is read first.
    static let wholeBodyLimit = -1
}

extension URLSession.AuthChallengeDisposition {
    /// Ends the task with the response that holds the challenge, unless there is a stored credential.
    static let decliningWithResponse = Self.performDefaultHandling
}
#endif
