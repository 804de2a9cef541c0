import BlobStreams
import Foundation

extension BlobError {
    /// Creates the error that corresponds to an error of a session, which becomes its cause.
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
            // Linux reports every other error as unknown. Once bytes were sent, the connection has failed.
            case .unknown where byteOffset > 0: .unavailable
            default: .io
            }
        let text = error.localizedDescription
        self.init(
            code, "The upload failed: \(text)\(number.map { " (URLError \($0.rawValue))" } ?? "").", operation: "write",
            locator: url, byteOffset: byteOffset, cause: error)
    }
}

extension URL {
    /// The URL in the form in which it is printed.
    var printable: String { printableURL(self.absoluteString) }

    /// The origin of the URL (RFC 6454): scheme, host and port.
    var origin: String? {
        guard let scheme = self.scheme?.lowercased(), let host = self.host?.lowercased() else { return nil }
        return "\(scheme)://\(host):\(self.port ?? (scheme == "https" ? 443 : 80))"
    }
}
