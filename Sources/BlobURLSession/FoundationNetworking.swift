import Foundation

// Imports URLSession where it is not part of Foundation, for all files of this module.
#if canImport(FoundationNetworking)
@_exported import FoundationNetworking

extension URLSession.AuthChallengeDisposition {
    /// Ends the task with the response that contains the challenge. The default handling waits forever (Swift 6.3 and
    /// earlier, github.com/swiftlang/swift-corelibs-foundation/issues/5456), and never finds a stored credential.
    static let decliningWithResponse = Self.cancelAuthenticationChallenge
}

extension BlobUploadBody {
    /// False: a manually set length would be sent beside `Transfer-Encoding: chunked`, which no request may have (RFC
    /// 9112, section 6.2).
    static let streamsHaveLengths = false
}

extension URLSessionUploader {
    /// The maximum length of bodies that are read first and sent as data, with a `Content-Length`.
    static let wholeBodyLimit = 64 * 1024
}
#else
extension BlobUploadBody {
    /// True: a manually set length is sent instead of chunks.
    static let streamsHaveLengths = true
}

extension URLSessionUploader {
    /// Negative: stream bodies have a `Content-Length` themselves, so no body is read first.
    static let wholeBodyLimit = -1
}

extension URLSession.AuthChallengeDisposition {
    /// Ends the task with the response that contains the challenge, unless a credential is stored.
    static let decliningWithResponse = Self.performDefaultHandling
}
#endif
