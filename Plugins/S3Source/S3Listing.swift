package import BlobCore
package import BlobPlatform
import BlobTransfer

/// The objects of a bucket whose keys begin with a prefix, listed page by page (ListObjectsV2).
package struct S3Listing: Sendable {
    /// An object in a list.
    package struct Object: Sendable, Equatable {
        /// The locator, with the key percent-encoded.
        package let locator: String
        /// The length in bytes.
        package let byteCount: Int64
        /// The time at which the object was stored; nil if the store does not state it.
        package let modificationTime: Date?
    }

    private let address: S3Address
    private let store: S3Service

    /// Creates a list. Reads the configuration files of the AWS tools; does not connect.
    ///
    /// - Parameter locator: `s3://BUCKET/PREFIX` with the prefix percent-encoded, or `s3://BUCKET` for all objects.
    /// - Throws: The errors of ``S3Source/init(_:options:)``.
    package init(_ locator: BlobLocator, options: S3Source.Options) throws(BlobError) {
        try self.init(locator, BlobError.wrapping { try S3Service(options, .process) })
    }

    init(_ locator: BlobLocator, _ store: S3Service) throws(BlobError) {
        (self.address, self.store) = (try S3Address(locator, mayBePrefix: true), store)
    }

    /// Returns a page of at most 1,000 objects, in the order of the store, and the token of the next page.
    ///
    /// - Parameter token: The token of the page; nil for the first page.
    /// - Returns: The objects, and the token of the next page; nil after the last page.
    /// - Throws: ``BlobError/Code/notFound`` and ``BlobError/Code/permissionDenied`` by the response of the store;
    ///   ``BlobError/Code/corrupted`` for an invalid response; the errors of the connection, after 5 repetitions.
    package func page(
        _ token: String? = nil, _ context: BlobContext
    ) async throws(BlobError) -> (objects: [Object], next: String?) {
        let encoded = { (text: [UInt8]) in PercentEncoding.encode(text, leaving: S3Address.segmentCharacters) }
        var call = S3Call(parameters: [("list-type", "2"), ("encoding-type", "url")])
        if !self.address.key.isEmpty { call.parameters.append(("prefix", encoded(self.address.key))) }
        if let token { call.parameters.append(("continuation-token", encoded(Array(token.utf8)))) }
        var bucket = self.address
        bucket.key = []
        do throws(BlobError) {
            let client = S3Client(S3Requests(bucket, self.store), try BlobUploader(), S3Client.Limits(), context)
            return try await client.send(call) { (answer) throws(BlobError) in
                let list = try answer.document("ListBucketResult")
                let isEncoded = list.text(of: "EncodingType") == "url"
                let objects = try list.children.filter { $0.name.local == "Contents" }
                    .map { (element) throws(BlobError) in try self.object(element, isEncoded) }
                guard list.text(of: "IsTruncated") == "true" else { return (objects, nil) }
                // The same token would repeat the same request without end.
                guard let next = list.text(of: "NextContinuationToken"), !next.isEmpty, next != token else {
                    throw S3Client.corruptionError("half a list of objects")
                }
                return (objects, next)
            }
        } catch {
            var error = error
            (error.operation, error.locator) = ("read", self.address.text)
            throw error
        }
    }

    private func object(_ element: MarkupElement, _ isEncoded: Bool) throws(BlobError) -> Object {
        let text = element.text(of: "Key") ?? ""
        // As in the query of a URL, a '+' is a space.
        let key = isEncoded ? PercentEncoding.decode(text.utf8.map { $0 == 0x2B ? 0x20 : $0 }) : Array(text.utf8)
        guard let key, !key.isEmpty, let byteCount = element.text(of: "Size").flatMap({ Int64($0) }), byteCount >= 0
        else { throw S3Client.corruptionError("an object without key or size") }
        var address = self.address
        address.key = key
        // Stores differ in the fraction of the seconds.
        let time = element.text(of: "LastModified").flatMap { try? Date("\($0.prefix(19))Z", strategy: .iso8601) }
        return Object(locator: address.text, byteCount: byteCount, modificationTime: time)
    }
}
