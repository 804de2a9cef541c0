package import BlobCore
package import BlobPlatform

extension BlobUploadResponse {
    /// A line about a stored body, in the format that `blob receive` uses in its response.
    private struct StoredBodyLine: Decodable {
        let byteCount: Int64
        let sha256: String
    }

    /// Returns the digests of the stored content that this response states, provided that the server has all of the
    /// content.
    ///
    /// In a response with content, the digest fields apply to that content (RFC 9530, appendix B.7). The lines that
    /// `blob receive` sends as content apply to the stored body.
    ///
    /// - Parameter body: The content of the response, if ``BlobUploadRequest/onResponseBody`` received it.
    package func storedDigests(in body: Data? = nil) -> [BlobStatedDigest] {
        let body = body ?? self.body
        guard !body.isEmpty else {
            return BlobStatedDigest.representationFields
                .flatMap { BlobStatedDigest.list($0, self.head.values(of: $0.lowercased())) }
                .filter { !$0.value.isEmpty }
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard self.value(of: "content-type") == "application/x-ndjson",
            let line = try? decoder.decode(StoredBodyLine.self, from: body),
            let digest = [UInt8](hexadecimal: line.sha256.utf8)
        else { return [] }
        return [BlobStatedDigest(StatedAlgorithm.sha256.rawValue, digest, origin: "the response")]
    }

    /// Compares the digests of the stored content in this response with the digests of the sent content.
    ///
    /// - Parameter body: The content of the response, as in ``storedDigests(in:)``.
    /// - Returns: The digest that was compared, such as `SHA-256`; nil if the response states no digest with a matching
    ///   algorithm.
    /// - Throws: ``BlobError/Code/checksumMismatch``.
    @discardableResult
    package func compare(_ sent: [BlobStatedDigest], body: Data? = nil) throws(BlobError) -> String? {
        var compared: String?
        for stored in self.storedDigests(in: body) {
            guard let sent = sent.first(where: { $0.algorithm == stored.algorithm }) else { continue }
            let title = StatedAlgorithm(rawValue: sent.algorithm)?.title ?? sent.algorithm
            guard sent.value == stored.value else {
                throw BlobError(
                    .checksumMismatch,
                    "The server stored bytes with the \(title) \(stored.value.hexadecimal), but "
                        + "\(sent.value.hexadecimal) was sent.", operation: "write",
                    locator: printableURL(self.url), isTransient: false)
            }
            compared = compared ?? title
        }
        return compared
    }
}

extension BlobInputStreamDataSource {
    /// Reads all bytes on the calling thread.
    func forEachPiece(
        matching validator: BlobValidator?, _ context: BlobContext, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(BlobError) {
        let reader = try self.open(matching: validator, context: context)
        defer { reader.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        try BlobError.wrapping {
            while case let count = try reader.readBlocking(into: buffer), count > 0 {
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
    }
}
