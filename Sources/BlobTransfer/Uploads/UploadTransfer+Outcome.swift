import BlobCore
import BlobPlatform
import CCurl

extension UploadTransfer {
    /// The statuses of transient refusals (RFC 9110, sections 15.5.9 and 15.6.4; RFC 6585, section 4; RFC 8470, section
    /// 5.2).
    private static let transientStatuses: Set = [408, 425, 429, 503]

    /// The statuses of gateways, behind which a server may have accepted the request.
    private static let gatewayStatuses: Set = [502, 504]

    private static let excerptLength = 200

    /// The progress of the upload, as the end of a sentence.
    var stage: String {
        if self.head.isFinal { return "status \(self.head.status) had come" }
        if self.isBodySent {
            return "all \(self.sent) bytes were sent, and whether the server took them is not known"
        }
        return self.byteCount.map { "\(self.sent) of \($0) bytes were sent" } ?? "\(self.sent) bytes were sent"
    }

    /// Returns the response to a request that has ended, or throws its error.
    func outcome(of code: CURLcode) throws(BlobError) -> BlobUploadResponse {
        // The error for which a callback ended the request comes before libcurl's own.
        if let failure { throw self.located(failure) }
        if self.head.isFinal, !self.head.isSuccess { throw self.refusal }
        guard code == CURLE_OK else {
            // libcurl only sends again what it sent on a connection that was used before.
            let isReused = CurlFailure(code) == .needsRewind || self.handle?.hasReusedConnection == true
            self.isStale = self.isStale || self.connection == .pooled && isReused && self.head.status == 0
            throw self.error(for: code)
        }
        guard self.head.isComplete else {
            throw self.error(.truncated, "The answer ended within its header; \(self.stage).")
        }
        guard self.head.isSuccess else {
            throw self.error(.io, "The connection ended without an answer; \(self.stage).")
        }
        guard self.isBodySent else {
            throw self.error(.io, "The server ended the request before it was whole; \(self.stage).")
        }
        try self.checkEndOfAnswer()
        return self.response
    }

    private var response: BlobUploadResponse {
        BlobUploadResponse(url: self.url?.text ?? self.upload.printableURL, head: self.head, body: self.body)
    }

    private var refusal: BlobError {
        let status = self.head.status
        var message = "The server answered \(status)"
        if !self.head.reason.isEmpty { message += " \(self.head.reason)" }
        if (300..<400).contains(status), let location = self.head.value(of: "location") {
            message += ", pointing to \(printableURL(location)), which is not followed"
        }
        let text = String(decoding: self.body, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        if !text.isEmpty {
            message += ": " + text.prefix(Self.excerptLength) + (text.count > Self.excerptLength ? "..." : "")
        }
        let isTransient =
            Self.transientStatuses.contains(status)
            || self.upload.method == .put && Self.gatewayStatuses.contains(status)
        var error = BlobError(
            .refused, message, isTransient: isTransient, cause: BlobUploadRefusal(response: self.response))
        error.operation = "write"
        error.retryDelay = self.head.retryDelay
        return self.located(error)
    }

    private func error(for code: CURLcode) -> BlobError {
        let text = self.handle?.explanation(of: code) ?? ""
        switch CurlFailure(code) {
        case .noConnection:
            return self.error(.unavailable, "No connection: \(text).", isTransient: true)
        case .connectingTimedOut:
            return self.error(.timedOut, "No connection: \(text).", isTransient: true)
        case .noSecureConnection:
            return self.error(.unavailable, "No secure connection: \(text).", isTransient: false)
        case .notHTTP:
            return self.error(.corrupted, "The answer is not valid HTTP: \(text); \(self.stage).")
        case .cutOff:
            return self.error(.truncated, "The answer was cut off: \(text); \(self.stage).")
        case .headerTooLarge:
            return self.error(.limitExceeded, "The answer's header is too large: \(text); \(self.stage).")
        case .needsRewind:
            return self.error(.io, "The body would have to be sent again, which is not done; \(self.stage).")
        case .noAnswer:
            return self.error(.io, "The server closed the connection without an answer; \(self.stage).")
        case .brokenConnection:
            var error = self.error(.io, "The connection broke: \(text); \(self.stage).")
            error.systemErrorNumber = self.handle?.systemErrorNumber
            return error
        }
    }

    /// - Parameter isTransient: Nil to derive it: true for PUT, or when the server cannot have accepted the request.
    func error(_ code: BlobError.Code, _ message: String, isTransient: Bool? = nil) -> BlobError {
        let isRepeatable = self.upload.method == .put || self.sent == 0 && self.byteCount != 0
        let error = BlobError(code, message, operation: "write", isTransient: isTransient ?? isRepeatable)
        return self.located(error)
    }

    /// Adds the URL to an error of the request; an error of the source has its own context.
    private func located(_ error: BlobError) -> BlobError {
        guard error.operation == "write", error.locator == nil else { return error }
        var error = error
        error.locator = self.upload.printableURL
        return error
    }
}
