#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The evidence that a server already has a file.
enum ExistingCheck: String, ExpressibleByArgument, CaseIterable {
    case digest, size

    enum Finding {
        /// The object equals the source according to the check. The SHA-256 is known if the source was read.
        case same(sha256: String?)
        /// The object, if it exists, may have the right length, but the server states no digest.
        case unverifiable
        /// The object does not exist, is different, or cannot be compared.
        case other
    }

    /// Compares the object at the URL of an upload with a source.
    ///
    /// - Throws: The errors of reading the source. If the request fails, the result is `other`.
    func compare(
        for source: any BlobInputStreamDataSource, at upload: BlobUploadRequest, _ context: BlobContext
    ) throws(BlobError) -> Finding {
        guard source.traits.contains(.repeatable), let head = try? TransferRequest(asking: upload).head(context),
            head.isSuccess, head.contentCodings.isEmpty, let byteCount = try source.info(context).byteCount
        else { return .other }
        guard self == .digest else { return head.contentLength == byteCount ? .same(sha256: nil) : .other }
        guard head.contentLength == nil || head.contentLength == byteCount else { return .other }
        guard let stored = head.digest else { return .unverifiable }
        let digests = try Hashing([.sha256, stored.algorithm], context)
            .digests(of: source)
        return digests[1] == stored.value ? .same(sha256: digests[0].hexadecimal) : .other
    }
}

extension TransferRequest {
    /// Creates the request for the state of the object that an upload would replace.
    init(asking upload: BlobUploadRequest) throws(BlobError) {
        self.init(try TransferURL(upload.url))
        // Omits the fields of the body and the conditions of the upload: `If-None-Match: *` would result in a 304.
        self.privateFields = upload.fields.filter { field in
            !["content-", "if-"].contains { field.name.lowercased().hasPrefix($0) }
        }
        self.settings = upload.settings
        if let limit = upload.idleLimit { self.idleLimit = limit }
    }
}

extension ResponseHead {
    /// The strongest digest of the object; nil if the server states none.
    var digest: (algorithm: CryptoDigest, value: [UInt8])? {
        let stated = self.objectDigests + [self.tagDigest].compactMap(\.self)
        for algorithm in [CryptoDigest.sha512, .sha256, .sha1, .md5] {
            if let digest = stated.first(where: { $0.algorithm == algorithm.name }) { return (algorithm, digest.value) }
        }
        return nil
    }
}
#endif
