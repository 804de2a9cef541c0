import Foundation

// Where URLSession is not part of Foundation; the other files of this module need no import of their own.
#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking

    extension URLSession.AuthChallengeDisposition {
        /// Ends the task, with the response that asked. The default handling waits for ever (Swift 6.3 and before,
        /// github.com/swiftlang/swift-corelibs-foundation/issues/5456), and never finds a stored credential.
        static let decliningWithResponse = Self.cancelAuthenticationChallenge
    }
#else
    extension URLSession.AuthChallengeDisposition {
        /// Ends the task, with the response that asked, unless there is a stored credential.
        static let decliningWithResponse = Self.performDefaultHandling
    }
#endif
