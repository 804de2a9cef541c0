import BlobStreams
import FileSource
import Foundation

/// The ways to append a part.
///
/// All throw ``BlobError/Code/invalidArgument`` for a name or header that cannot be sent, and
/// ``BlobError/Code/limitExceeded`` for one that is too long; nothing is appended then. An empty name is sent as such,
/// and lost by some receivers.
extension MultipartForm {
    /// Appends a field with a text: UTF-8, with any line break as CR LF, as browsers send it.
    public mutating func appendPart(value: String, name: String) throws(BlobError) {
        try self.appendPart(value: Data(MultipartNaming.withWholeLineBreaks(value)), name: name)
    }

    /// Appends a field with bytes, sent as they are.
    ///
    /// - Parameters:
    ///   - value: The bytes, which are few: each body hashes them. Appended as a source they are not.
    ///   - name: The name of the field.
    ///   - mediaType: What they are; nil says nothing, which stands for text.
    public mutating func appendPart(value: Data, name: String, mediaType: String? = nil) throws(BlobError) {
        try self.append(
            FormPart(
                source: MemorySource(value), name: name, heading: .field(mediaType: mediaType), value: Array(value)))
    }

    /// Appends a field with the bytes of any source, without a file name.
    public mutating func appendPart(
        value: any BlobInputStreamDataSource, name: String, mediaType: String? = nil
    ) throws(BlobError) {
        try self.append(FormPart(source: value, name: name, heading: .field(mediaType: mediaType)))
    }

    /// Appends a file that is in memory.
    ///
    /// - Parameters:
    ///   - data: Its bytes; not copied.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: What it is; nil goes by the extension of the name.
    public mutating func appendPart(
        data: Data, name: String, fileName: String, mediaType: String? = nil
    ) throws(BlobError) {
        try self.appendPart(source: MemorySource(data), name: name, fileName: fileName, mediaType: mediaType)
    }

    /// Appends a file.
    ///
    /// - Parameters:
    ///   - fileURL: A file URL; the file may still come into being until there is a body.
    ///   - name: The name of the field.
    ///   - fileName: What the receiver is told; nil is the file's own name.
    ///   - mediaType: What it is; nil goes by the extension of the name.
    public mutating func appendPart(
        fileURL: URL, name: String, fileName: String? = nil, mediaType: String? = nil
    ) throws(BlobError) {
        guard fileURL.isFileURL else {
            throw BlobError(.invalidArgument, "\(fileURL.scheme ?? "") is no URL of a file.")
        }
        try self.appendPart(source: FileSource(url: fileURL), name: name, fileName: fileName, mediaType: mediaType)
    }

    /// Appends what a stream has, once: the body can then be read only once, and not again after a redirection.
    ///
    /// - Parameters:
    ///   - inputStream: Not open; nobody else may use it from now on.
    ///   - byteCount: How many bytes it has, which is checked: reading the body fails when it ends earlier or goes on.
    ///     Nil when nobody knows; then the body has no length either.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: What it is; nil goes by the extension of the name.
    public mutating func appendPart(
        inputStream: sending InputStream, byteCount: Int64?, name: String, fileName: String, mediaType: String? = nil
    ) throws(BlobError) {
        nonisolated(unsafe) let stream = inputStream  // Sent here, and from here to the one reader that there is.
        try self.append(
            InputStreamSource(isRepeatable: false) { stream }, byteCount, name: name, fileName: fileName, mediaType)
    }

    /// Appends what streams have that are made anew for each reading of the body.
    ///
    /// - Parameters:
    ///   - makeStream: Gives an unopened stream with the same bytes each time; nil is ``BlobError/Code/unavailable``.
    ///   - byteCount: As with one stream, like the others.
    public mutating func appendPart(
        makingStreams makeStream: @escaping @Sendable () -> InputStream?, byteCount: Int64?, name: String,
        fileName: String, mediaType: String? = nil
    ) throws(BlobError) {
        try self.append(
            InputStreamSource(makeStream: makeStream), byteCount, name: name, fileName: fileName, mediaType)
    }

    /// Appends the bytes of any source as a file.
    ///
    /// - Parameters:
    ///   - source: Where the bytes come from: a member of an archive, an asset, a locator of a registry.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file; nil is the name that the source has, or `blob`.
    ///   - mediaType: What it is; nil is what the source says, or goes by the extension of the name.
    public mutating func appendPart(
        source: any BlobInputStreamDataSource, name: String, fileName: String? = nil, mediaType: String? = nil
    ) throws(BlobError) {
        try self.append(
            FormPart(source: source, name: name, heading: .file(fileName: fileName, mediaType: mediaType)))
    }

    /// Appends a part with headers of one's own, which receivers of forms expect to begin with `Content-Disposition`.
    ///
    /// - Parameters:
    ///   - headers: Written in this order, as they are; `Content-Transfer-Encoding` is refused.
    ///   - body: Where the bytes come from.
    public mutating func appendPart(
        headers: [(name: String, value: String)], body: any BlobInputStreamDataSource
    ) throws(BlobError) {
        try self.append(FormPart(source: body, name: nil, heading: .headers(headers)))
    }

    private mutating func append(
        _ source: InputStreamSource, _ byteCount: Int64?, name: String, fileName: String, _ mediaType: String?
    ) throws(BlobError) {
        guard byteCount ?? 0 >= 0 else {
            throw BlobError(.invalidArgument, "A length of \(byteCount ?? 0) bytes is negative.")
        }
        try self.append(
            FormPart(
                source: source, name: name, heading: .file(fileName: fileName, mediaType: mediaType),
                byteCount: byteCount))
    }
}
