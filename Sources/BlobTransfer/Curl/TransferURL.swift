package import BlobCore
import CCurl

/// An `http` or `https` URL, parsed by libcurl, so that decisions about its origin agree with libcurl's connections.
package struct TransferURL: Sendable, Equatable {
    /// The scheme, host and port for which secrets are valid.
    ///
    /// Spellings of an origin that differ only in a default port, in the case of letters, or in the notation of a
    /// numeric address are equal. As in browsers, a host with a trailing dot is a different host, because the dot
    /// prevents resolvers from completing the name.
    package struct Origin: Sendable, Equatable {
        package let scheme: String
        package let host: String
        package let port: String
        /// The zone of a link-local IPv6 address; nil for any other host.
        var zone: String?
    }

    /// The URL without its user, password and fragment. The path is unchanged.
    package let text: String
    package let origin: Origin

    /// The user and the password in the URL, decoded; nil if the URL contains no user.
    package let credentials: BlobTransferSettings.Credentials?

    /// The path, percent-encoded.
    package let path: String

    /// - Throws: ``BlobError/Code/invalidLocator`` for an invalid URL or another scheme; ``BlobError/Code/unavailable``
    ///   if libcurl is missing or memory is exhausted.
    package init(_ text: String) throws(BlobError) { try self.init(text, relativeTo: nil) }

    /// Returns the URL to which a `Location` field points.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` for an invalid URL or another scheme; ``BlobError/Code/unavailable``
    ///   if memory is exhausted.
    package func resolving(_ location: String) throws(BlobError) -> TransferURL {
        // libcurl would remove the last component of the path (RFC 3986, sections 4.4 and 5.2.2).
        if location.isEmpty || location.first == "#" { return try TransferURL(self.text) }
        return try TransferURL(location, relativeTo: self.text)
    }

    private init(_ text: String, relativeTo base: String?) throws(BlobError) {
        try CurlLibrary.load()
        guard let url = blob_curl_url_init() else { throw CurlLibrary.startError }
        defer { blob_curl_url_cleanup(url) }
        if let base { _ = blob_curl_url_set(url, CURLUPART_URL, base, CUnsignedInt(CURLU_PATH_AS_IS)) }
        // In `Location`, servers send spaces, and relative paths that libcurl has to make absolute.
        let flags = CUnsignedInt(base == nil ? CURLU_PATH_AS_IS : CURLU_URLENCODE)
        // libcurl also accepts a third slash, and treats the beginning of the path as the host.
        let isPlausible = !text.utf8.drop { !":/?#".utf8.contains($0) }.starts(with: ":///".utf8)
        let status = isPlausible ? blob_curl_url_set(url, CURLUPART_URL, text, flags) : CURLUE_MALFORMED_INPUT
        guard status != CURLUE_OUT_OF_MEMORY else { throw CurlLibrary.startError }
        guard status == CURLUE_OK else { throw BlobError(.invalidLocator, "This is not a valid URL.") }
        func part(_ part: CURLUPart, _ flags: CInt = 0) throws(BlobError) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            let status = blob_curl_url_get(url, part, &text, CUnsignedInt(flags))
            // If exhausted memory removed a component, the request could be sent without a password.
            guard status != CURLUE_OUT_OF_MEMORY else { throw CurlLibrary.startError }
            guard status == CURLUE_OK, let text else { return nil }
            defer { blob_curl_free(text) }
            return String(cString: text)
        }
        let (user, password) = (
            try part(CURLUPART_USER, CURLU_URLDECODE), try part(CURLUPART_PASSWORD, CURLU_URLDECODE)
        )
        self.credentials = user.map { .init(user: $0, password: password ?? "") }
        for secret in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_FRAGMENT] {
            _ = blob_curl_url_set(url, secret, nil, 0)
        }
        guard let scheme = try part(CURLUPART_SCHEME), ["http", "https"].contains(scheme),
            let host = try part(CURLUPART_HOST), let whole = try part(CURLUPART_URL)
        else { throw BlobError(.invalidLocator, "The URL must have the scheme http or https, and a host.") }
        self.text = whole
        self.path = try part(CURLUPART_PATH) ?? "/"
        self.origin = Origin(
            scheme: scheme, host: host.lowercased(), port: try part(CURLUPART_PORT, CURLU_DEFAULT_PORT) ?? "",
            zone: try part(CURLUPART_ZONEID))
    }
}

extension TransferURL: CustomStringConvertible, CustomReflectable {
    /// The URL without its secrets.
    package var description: String { printableURL(self.text) }

    package var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}
