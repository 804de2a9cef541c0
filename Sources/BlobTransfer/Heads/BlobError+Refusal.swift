package import BlobCore
import BlobPlatform
import CCurl

extension BlobError {
    /// The statuses of transient refusals (RFC 9110, sections 15.5.9 and 15.6; RFC 6585, section 4; RFC 8470, section
    /// 5.2).
    private static let transientStatuses: Set = [408, 425, 429, 500, 502, 503, 504]

    private static let excerptLength = 200

    /// Creates the error for an answer that is not the one that was asked for.
    ///
    /// The code is ``Code/notFound`` for 404 and 410, ``Code/permissionDenied`` for 401, 403 and 407,
    /// ``Code/unavailable`` for 5xx, 408, 425 and 429, and ``Code/refused`` otherwise.
    package init(refusing head: ResponseHead, _ explanation: [UInt8]) {
        let code: Code =
            switch head.status {
            case 404, 410: .notFound
            case 401, 403, 407: .permissionDenied
            case 408, 425, 429, 500..<600: .unavailable
            default: .refused
            }
        var message = "The server answered \(head.status)"
        if !head.reason.isEmpty { message += " \(head.reason)" }
        let text = String(decoding: explanation, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        // A page of HTML explains nothing that the status does not.
        if !text.isEmpty, !text.hasPrefix("<!"), !text.lowercased().hasPrefix("<html") {
            message += ": " + text.prefix(Self.excerptLength) + (text.count > Self.excerptLength ? "..." : "")
        }
        if let last = message.last, !".!?".contains(last) { message += "." }
        self.init(code, message, isTransient: Self.transientStatuses.contains(head.status))
        self.retryDelay = head.retryDelay
    }
}

extension ResponseHead {
    /// The longest delay that a server can ask for, in seconds: a day.
    private static let longestRetryDelay: Int64 = 86_400

    /// The delay of a `Retry-After` field, in seconds or as a date (RFC 9110, section 10.2.3), at most a day; nil
    /// without one.
    package var retryDelay: Duration? {
        guard let text = self.value(of: "retry-after") else { return nil }
        if let seconds = Int64(text) { return seconds >= 0 ? .seconds(min(seconds, Self.longestRetryDelay)) : nil }
        let date = Int64(blob_curl_date(text))
        return date < 0 ? nil : .seconds(min(max(0, date - Int64(time(nil))), Self.longestRetryDelay))
    }
}
