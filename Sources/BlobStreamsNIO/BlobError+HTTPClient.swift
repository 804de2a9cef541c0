#if AsyncHTTPClient
    internal import AsyncHTTPClient
    internal import BlobCore
    internal import BlobPlatform
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOPosix

    extension BlobError {
        /// The errors of a peer or a network that is not there.
        private static let unreachable: Set = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN]

        /// Creates the error of a request from that of async-http-client or NIO, as the cause.
        init(_ error: any Error, of request: HTTPClientRequest) {
            if let error = error as? BlobError {
                self = error
                if error.operation == "write" { self.locator = error.locator ?? request.printableURL }
                return
            }
            // A request with this method has no effect twice.
            let isRepeatable = request.method == .PUT
            let (code, message, isTransient) = Self.kind(of: error, isRepeatable)
            self.init(
                code, "\(message): \(BlobError.text(of: error)).", operation: "write", locator: request.printableURL,
                isTransient: isTransient,
                cause: error)
            if let error = error as? IOError { self.systemErrorNumber = error.errnoCode }
        }

        private static func kind(of error: any Error, _ isRepeatable: Bool) -> (
            Code, message: String, isTransient: Bool
        ) {
            switch error {
            case is CancellationError: (.cancelled, "The request was cancelled", false)
            case is NIOConnectionError: (.unavailable, "No connection", true)
            case let error as IOError where self.unreachable.contains(error.errnoCode):
                (.unavailable, "No connection", true)
            case is HTTPParserError: (.corrupted, "The answer is not valid HTTP", false)
            case let error as HTTPClientError: self.kind(of: error, isRepeatable)
            default: (.io, "The connection broke", isRepeatable)
            }
        }

        private static func kind(
            of error: HTTPClientError, _ isRepeatable: Bool
        ) -> (Code, message: String, isTransient: Bool) {
            switch error {
            case .cancelled, .requestStreamCancelled: (.cancelled, "The request was cancelled", false)
            case .connectTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout, .tlsHandshakeTimeout,
                .getConnectionFromPoolTimeout:
                (.timedOut, "No connection", true)
            case .readTimeout, .writeTimeout, .deadlineExceeded: (.timedOut, "The connection is idle", isRepeatable)
            case .invalidURL, .emptyHost, .emptyScheme, .missingSocketPath, .incompatibleHeaders, .traceRequestWithBody,
                .contentLengthMissing, .identityCodingIncorrectlyPresent, .chunkedSpecifiedMultipleTimes:
                (.invalidArgument, "The request is not valid", false)
            case .redirectLimitReached, .redirectCycleDetected: (.refused, "The server redirects in a circle", false)
            case .alreadyShutdown: (.closed, "The client was shut down", false)
            default: (.io, "The request failed", isRepeatable)
            }
        }
    }
#endif
