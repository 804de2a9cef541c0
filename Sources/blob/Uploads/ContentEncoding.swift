import ArgumentParser
import BlobStreamsStandard
import BlobTransfer

/// The encoding of a body for its transfer (RFC 9110, section 8.4).
enum ContentEncoding: String, ExpressibleByArgument, CaseIterable {
    case identity, gzip

    /// Returns `source` in this encoding, and adds the fields that declare it to `upload`.
    func encode(
        _ source: any BlobInputStreamDataSource, _ upload: inout BlobUploadRequest, _ context: BlobContext
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        guard self == .gzip else { return source }
        upload.fields.append(BlobHTTPField("Content-Encoding", self.rawValue))
        // The media type is that of the bytes before encoding.
        if !upload.fields.contains(where: { $0.name.lowercased() == "content-type" }) {
            let type = try source.info(context).mediaType ?? "application/octet-stream"
            upload.fields.append(BlobHTTPField("Content-Type", type))
        }
        return GzipEncodedSource(source)
    }
}
