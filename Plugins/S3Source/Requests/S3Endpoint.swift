import BlobCore
import BlobTransfer

/// The server of the buckets: AWS in a region, or another store with the S3 interface.
struct S3Endpoint: Sendable {
    /// The AWS region that reports the region of any bucket.
    static let defaultRegion = "us-east-1"

    /// The URL of a store; nil for AWS.
    private let baseURL: TransferURL?

    /// - Parameter url: An `http` or `https` URL; nil for AWS.
    /// - Throws: ``BlobError/Code/invalidArgument`` if the URL is invalid, or contains credentials or a query;
    ///   ``BlobError/Code/unavailable`` if libcurl is missing.
    init(_ url: String?) throws(BlobError) {
        do throws(BlobError) {
            self.baseURL = try url.map { (url) throws(BlobError) in try TransferURL(url) }
        } catch {
            throw error.code == .invalidLocator
                ? BlobError(.invalidArgument, "The endpoint must be an http or https URL.") : error
        }
        guard self.baseURL?.credentials == nil, self.baseURL?.text.contains("?") != true else {
            throw BlobError(.invalidArgument, "The URL of the endpoint must not contain credentials or a query.")
        }
    }

    /// Returns the URL of an object and the parts of that URL in the form in which they are signed.
    ///
    /// - Parameter parameters: The query of a request about an object's parts, percent-encoded.
    /// - Throws: ``BlobError/Code/invalidLocator`` if the result is not a valid URL.
    func target(
        _ address: S3Address, region: String, _ parameters: [(name: String, value: String)] = []
    ) throws(BlobError) -> (url: TransferURL, request: SigV4Request) {
        let key = address.encodedKey
        var (origin, path) = ("", "/\(address.bucket)/\(key)")
        if let baseURL {
            let base = baseURL.path.hasSuffix("/") ? String(baseURL.path.dropLast()) : baseURL.path
            origin = String(baseURL.text.dropLast(baseURL.text.hasSuffix(baseURL.path) ? baseURL.path.utf8.count : 0))
            path = base + path
        } else {
            let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
            let isHost = address.isHostName
            origin = "https://\(isHost ? "\(address.bucket)." : "")s3.\(region).\(domain)"
            if isHost { path = "/\(key)" }
        }
        let query = address.query + parameters
        let text = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        let url = try TransferURL(origin + path + (text.isEmpty ? "" : "?\(text)"))
        // The form that libcurl sends.
        let port = url.origin.port == (url.origin.scheme == "https" ? "443" : "80") ? "" : ":\(url.origin.port)"
        return (url, SigV4Request(path: path, query: query, fields: [BlobHTTPField("Host", url.origin.host + port)]))
    }
}

/// The object that a locator names: `s3://BUCKET/KEY?versionId=VERSION`.
struct S3Address: Sendable, Equatable {
    let bucket: String
    /// The bytes of the key, which are almost always UTF-8.
    var key: [UInt8]
    var version: String?

    /// - Parameter mayBePrefix: True to accept a bucket without a key, and the beginning of keys without a version.
    /// - Throws: ``BlobError/Code/invalidLocator`` if the locator does not name an object, or has an invalid query.
    init(_ locator: BlobLocator, mayBePrefix: Bool = false) throws(BlobError) {
        let text = locator.schemeSpecificPart
        let path = text.prefix { $0 != "?" }
        guard path.hasPrefix("//") else { throw Self.invalidLocatorError("must have the form s3://bucket/key") }
        let authority = path.dropFirst(2).prefix { $0 != "/" }
        // Excludes any character that could end the host of a URL or begin another component.
        guard (1...255).contains(authority.utf8.count), authority.utf8.allSatisfy(Self.bucketCharacters.contains) else {
            throw Self.invalidLocatorError(
                "must have a bucket of letters, digits, '.', '-' and '_', and no user, password or port")
        }
        self.bucket = String(authority)
        self.key = PercentEncoding.decode(path.dropFirst(2 + authority.count + 1).utf8) ?? []
        guard !self.key.isEmpty || mayBePrefix else { throw Self.invalidLocatorError("must contain a key") }
        guard path.count < text.count else { return }
        for parameter in text.dropFirst(path.count + 1).split(separator: "&", omittingEmptySubsequences: false) {
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard !mayBePrefix, parts.count == 2, parts[0] == "versionId", self.version == nil, !parts[1].isEmpty,
                let version = PercentEncoding.decode(parts[1].utf8).flatMap({ String(validating: $0, as: UTF8.self) })
            else {
                throw Self.invalidLocatorError(
                    "must have no query other than ?versionId=VERSION; a '?' in a key is written as %3F")
            }
            self.version = version
        }
    }

    private static let bucketCharacters = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_".utf8)

    private static func invalidLocatorError(_ rule: String) -> BlobError {
        BlobError(.invalidLocator, "An s3 locator \(rule).", operation: "resolve")
    }

    /// True if the bucket can be part of a host name that the AWS certificates cover.
    var isHostName: Bool {
        (3...63).contains(self.bucket.utf8.count) && self.bucket.first != "-" && self.bucket.last != "-"
            && self.bucket.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
    }

    /// The key as the path of a request. Each segment is percent-encoded once; `//`, `.` and `..` are left unchanged.
    var encodedKey: String { PercentEncoding.encode(self.key, leaving: Self.segmentCharacters.union("/".utf8)) }

    /// The locator of the object without its version.
    var text: String { "s3://\(self.bucket)/\(self.encodedKey)" }

    /// The query of a request for the object.
    var query: [(name: String, value: String)] {
        self.version.map { [("versionId", PercentEncoding.encode($0.utf8, leaving: Self.segmentCharacters))] } ?? []
    }

    /// The characters that remain unencoded in a signed path: the unreserved characters of RFC 3986.
    static let segmentCharacters = Self.bucketCharacters.union("~".utf8)

    /// The last component of the key, for display; nil if the component is missing or is not valid UTF-8.
    var name: String? {
        self.key.split(separator: UInt8(ascii: "/")).last.flatMap { String(validating: $0, as: UTF8.self) }
    }
}
