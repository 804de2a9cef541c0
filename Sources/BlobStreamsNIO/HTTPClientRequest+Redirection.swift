#if AsyncHTTPClient
    internal import AsyncHTTPClient
    internal import BlobCore
    internal import BlobPlatform
    internal import NIOHTTP1

    extension HTTPClientRequest {
        /// The fields with credentials, which are for one origin.
        private static let secrets = ["Authorization", "Cookie", "Proxy-Authorization"]

        /// Returns this request for the URL to which an answer redirects; nil when it must not be sent there.
        ///
        /// Only 307 and 308 keep the method and the body (RFC 9110, sections 15.4.8 and 15.4.9).
        func redirected(by response: HTTPClientResponse, toOtherOrigins: Bool) -> HTTPClientRequest? {
            guard response.status == .temporaryRedirect || response.status == .permanentRedirect,
                // Bytes that are not UTF-8 are lost, and the path would be another one.
                let location = response.headers.first(name: "Location"), !location.contains("\u{FFFD}"),
                let url = URL(string: self.url),
                let target = URL(string: location, relativeTo: url)?.absoluteURL
            else { return nil }
            var request = self
            request.url = target.absoluteString
            guard Self.origin(of: target) != Self.origin(of: url) else { return request }
            let isSafe = target.scheme?.lowercased() == "https" || url.scheme?.lowercased() == "http"
            guard toOtherOrigins, isSafe else { return nil }
            for name in Self.secrets { request.headers.remove(name: name) }
            return request
        }

        /// Scheme, host and port of a URL (RFC 6454, section 4).
        private static func origin(of url: URL) -> [String?] {
            let scheme = url.scheme?.lowercased()
            return [scheme, url.host()?.lowercased(), "\(url.port ?? (scheme == "https" ? 443 : 80))"]
        }

        /// The URL in the form in which it is printed.
        var printableURL: String { BlobCore.printableURL(self.url) }
    }
#endif
