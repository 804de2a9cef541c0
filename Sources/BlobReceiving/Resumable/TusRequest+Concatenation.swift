import BlobCore

extension TusRequest {
    /// Creates a final upload.
    ///
    /// - Parameter value: The value of `Upload-Concat`: `final;` and the URLs of the parts, separated by spaces.
    /// - Throws: A refusal with 400 for another value, and for a part that is none or is not whole; with 404 for one
    ///   that is not there.
    func concatenate(_ value: String, in uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver {
        let words = value.split(separator: ";", maxSplits: 1)
        guard words.count == 2, words[0] == "final" else {
            throw UploadRefusal.error(400, "The Upload-Concat is 'partial', or 'final;' and the URLs of the parts.")
        }
        var (parts, byteCount): ([ResumableUpload], Int64) = ([], 0)
        for url in words[1].split(separator: " ") {
            let part = try uploads.find(ResumableUploads.identifier(in: Self.path(of: url)) ?? "")
            let facts = try part.facts()
            guard facts.record.has(.partial), facts.isWhole else {
                throw UploadRefusal.error(400, "\(url) is no partial upload, or not complete.")
            }
            guard facts.arrivedByteCount <= uploads.maximumByteCount - byteCount else {
                throw UploadRefusal.error(
                    413, "The parts have more bytes than the limit of \(uploads.maximumByteCount).")
            }
            parts.append(part)
            byteCount += facts.arrivedByteCount
        }
        guard !parts.isEmpty else { throw UploadRefusal.error(400, "The final upload has no parts.") }
        var record = UploadRecord(part: try self.part(byteCount: byteCount))
        record.concatenation = value
        let upload = try uploads.concatenate(
            parts, as: record, words: parts.map(\.identifier) + [self.fields["upload-metadata"] ?? ""])
        return TusAnswer(201, [("Location", upload.path)], [try upload.complete()].compactMap(\.self))
    }

    /// Returns the path of an `http` URL, or of one without scheme and host.
    private static func path(of url: Substring) -> String {
        guard let scheme = url.firstRange(of: "://") else { return String(url) }
        return String(url[scheme.upperBound...].drop { $0 != "/" })
    }
}
