import BlobCore
import BlobTransfer

/// The place of buckets: a store with the interface of S3, or AWS in a region.
struct S3Endpoint: Sendable {
    /// The region of AWS that answers with the region of any bucket.
    static let defaultRegion = "us-east-1"

    /// The URL of a store; nil is AWS.
    private let store: TransferURL?

    /// - Parameter url: An `http` or `https` URL; nil is AWS.
    /// - Throws: ``BlobError/Code/invalidArgument`` when it is not the URL of a server.
    init(_ url: String?) throws(BlobError) {
        do throws(BlobError) {
            self.store = try url.map { (url) throws(BlobError) in try TransferURL(url) }
        } catch {
            throw error.code == .invalidLocator
                ? BlobError(.invalidArgument, "The endpoint is no http or https URL.") : error
        }
        guard self.store?.credentials == nil, self.store?.text.contains("?") != true else {
            throw BlobError(.invalidArgument, "The URL of the endpoint has credentials or a query.")
        }
    }

    /// Returns the URL of an object, and its parts as they are signed.
    ///
    /// - Parameter parameters: The query of a request about its parts, percent-encoded.
    /// - Throws: ``BlobError/Code/invalidLocator`` when the parts make no URL.
    func target(
        _ address: S3Address, region: String, _ parameters: [(name: String, value: String)] = []
    ) throws(BlobError) -> (url: TransferURL, request: SigV4Request) {
        let key = address.encodedKey
        var (origin, path) = ("", "/\(address.bucket)/\(key)")
        if let store {
            let base = store.path.hasSuffix("/") ? String(store.path.dropLast()) : store.path
            origin = String(store.text.dropLast(store.text.hasSuffix(store.path) ? store.path.utf8.count : 0))
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
        // As libcurl sends it.
        let port = url.origin.port == (url.origin.scheme == "https" ? "443" : "80") ? "" : ":\(url.origin.port)"
        return (url, SigV4Request(path: path, query: query, fields: [BlobHTTPField("Host", url.origin.host + port)]))
    }
}
