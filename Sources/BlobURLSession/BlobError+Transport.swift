import BlobStreams
import Foundation

extension BlobError {
    /// The error that a session's stands for, with the original as its cause.
    init(ofTransport error: any Error, to url: String?, at byteOffset: Int64) {
        let number = (error as? URLError)?.code
        let code: Code =
            switch number {
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .badURL, .unsupportedURL: .invalidArgument
            case .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
                .notConnectedToInternet, .badServerResponse:
                .unavailable
            // What Linux calls everything else. Once bytes were on their way it is the connection that failed.
            case .unknown where byteOffset > 0: .unavailable
            default: .io
            }
        let text = error.localizedDescription
        self.init(
            code, "The upload failed: \(text)\(number.map { " (URLError \($0.rawValue))" } ?? "").", operation: .write,
            locator: url, byteOffset: byteOffset, cause: error)
    }
}

extension URL {
    /// What may be shown: a user, a password and a signed query may not.
    var withoutSecrets: String? {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return nil }
        (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
        return parts.string
    }

    /// Who it is that the URL speaks to (RFC 6454).
    var origin: String? {
        guard let scheme = self.scheme?.lowercased(), let host = self.host?.lowercased() else { return nil }
        return "\(scheme)://\(host):\(self.port ?? (scheme == "https" ? 443 : 80))"
    }
}
