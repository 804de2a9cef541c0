import Foundation

// Where URLSession is not part of Foundation; the other files of this module need no import of their own.
#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking

    extension URLSession.AuthChallengeDisposition {
        /// Ends the task, with the response that asked. The default handling waits for ever (Swift 6.3 and before,
        /// github.com/swiftlang/swift-corelibs-foundation/issues/5456), and never finds a stored credential.
        static let decliningWithResponse = Self.cancelAuthenticationChallenge
    }

    extension BlobUploadBody {
        /// A length that is set by hand is sent beside `Transfer-Encoding: chunked`, which no request may have
        /// (RFC 9112, section 6.2).
        static let streamsHaveLengths = false
    }

    extension BlobUploader {
        /// Bodies of at most so many bytes are read before they are sent, as data, which the session announces.
        static let wholeBodyLimit = 64 * 1024
    }
#else
    extension BlobUploadBody {
        /// A length that is set by hand replaces the chunks.
        static let streamsHaveLengths = true
    }

    extension BlobUploader {
        /// Streams have lengths themselves.
        static let wholeBodyLimit = -1
    }

    extension URLSession.AuthChallengeDisposition {
        /// Ends the task, with the response that asked, unless there is a stored credential.
        static let decliningWithResponse = Self.performDefaultHandling
    }
#endif
