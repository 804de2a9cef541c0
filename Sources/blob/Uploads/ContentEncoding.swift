import ArgumentParser
import BlobHTTP
import BlobStreamsStandard

/// What is done to a body on its way (RFC 9110, section 8.4).
enum ContentEncoding: String, ExpressibleByArgument, CaseIterable {
    case identity, gzip

    /// `source` encoded, and what `upload` has to say of that.
    func encode(
        _ source: any BlobInputStreamDataSource, _ upload: inout HTTPUpload, _ context: BlobContext
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        guard self == .gzip else { return source }
        upload.fields.append(HTTPUpload.Field("Content-Encoding", self.rawValue))
        // The media type is that of the bytes before.
        if !upload.fields.contains(where: { $0.name.lowercased() == "content-type" }) {
            let type = try source.checkedInfo(context).mediaType ?? "application/octet-stream"
            upload.fields.append(HTTPUpload.Field("Content-Type", type))
        }
        return GzipEncodedSource(source)
    }
}
