#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The evidence that a server has a file already.
enum ExistingCheck: String, ExpressibleByArgument, CaseIterable {
    case digest, size

    enum Finding {
        /// The object is the source, whose SHA-256 is known when it was read.
        case same(sha256: String?)
        /// There is an object of the right length, perhaps, whose digest the server does not tell.
        case untold
        /// There is another object, or none.
        case other
    }

    /// Compares the object at the URL of an upload with a source.
    ///
    /// - Throws: The errors of reading the source; those of the request mean that the object may not be there.
    func look(
        for source: any BlobInputStreamDataSource, at upload: BlobUploadRequest, _ context: BlobContext
    ) throws(BlobError) -> Finding {
        guard source.traits.contains(.repeatable), let head = try? TransferRequest(asking: upload).head(context),
            head.isSuccess, head.contentCodings.isEmpty, let byteCount = try source.info(context).byteCount
        else { return .other }
        guard self == .digest else { return head.contentLength == byteCount ? .same(sha256: nil) : .other }
        guard head.contentLength == nil || head.contentLength == byteCount else { return .other }
        guard let stored = head.digest else { return .untold }
        let digests = try Hashing([.sha256, stored.algorithm], itemCount: nil, progress: .never, context)
            .digests(of: source)
        return digests[1] == stored.value ? .same(sha256: digests[0].hexadecimal) : .other
    }
}

extension TransferRequest {
    /// Creates the request that asks for the object that an upload would replace.
    init(asking upload: BlobUploadRequest) throws(BlobError) {
        self.init(try TransferURL(upload.url))
        // Without fields of the body and conditions of the upload: `If-None-Match: *` would get a 304.
        self.privateFields = upload.fields.filter { field in
            !["content-", "if-"].contains { field.name.lowercased().hasPrefix($0) }
        }
        self.settings = upload.settings
        if let limit = upload.idleLimit { self.idleLimit = limit }
    }
}

extension ResponseHead {
    /// The names of digests in `Repr-Digest` (RFC 9530) and `Digest` (RFC 3230), the strongest first.
    private static let digests: [(name: String, algorithm: CryptoDigest)] = [
        ("sha-512", .sha512), ("sha-256", .sha256), ("sha", .sha1), ("md5", .md5),
    ]

    /// The strongest digest of the object; nil when there is none.
    var digest: (algorithm: CryptoDigest, value: [UInt8])? {
        var found: [String: [UInt8]] = [:]
        for field in ["repr-digest", "digest"] {
            for item in (self.value(of: field) ?? "").split(separator: ",") {
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { continue }
                let name = parts[0].filter { !$0.isWhitespace }.lowercased()
                // RFC 9530 has colons around the base64 (RFC 8941, section 3.3.5).
                let text = parts[1].filter { !$0.isWhitespace }.split(separator: ":").first ?? ""
                if let value = Data(base64Encoded: String(text)) { found[name] = Array(value) }
            }
        }
        for (name, algorithm) in Self.digests {
            if let value = found[name] { return (algorithm, value) }
        }
        if let text = self.value(of: "content-md5"), let value = Data(base64Encoded: text) {
            return (.md5, Array(value))
        }
        return self.value(of: "etag").flatMap(Self.md5).map { (.md5, $0) }
    }

    /// Returns the bytes of an entity tag of 32 hexadecimal digits, the MD5 of many stores; nil for any other.
    private static func md5(entityTag tag: String) -> [UInt8]? {
        let text = tag.split(separator: "\"", omittingEmptySubsequences: false)
        guard text.count == 3, text[0].isEmpty, text[2].isEmpty, text[1].utf8.count == 32 else { return nil }
        return [UInt8](hexadecimal: text[1].utf8)
    }
}
#endif
