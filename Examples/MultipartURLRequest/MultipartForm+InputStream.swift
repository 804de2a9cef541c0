public import BlobStreams
public import Foundation
public import MultipartFormData

/// Methods that append a part with the bytes of an `InputStream`.
///
/// They throw as the methods of `MultipartForm` do, and then append nothing.
extension MultipartForm {
    /// Appends the bytes of a stream as a file; the body can then be read only once, so not again after a redirection.
    ///
    /// - Parameters:
    ///   - inputStream: A stream that is not open; it must not be used elsewhere from now on.
    ///   - byteCount: The number of bytes of the stream, from 0; reading the body fails if the stream has fewer or
    ///     more. Nil if unknown; then the length of the body is unknown too.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: The media type; nil derives it from the extension of the file name.
    public mutating func appendPart(
        inputStream: sending InputStream, byteCount: Int64?, name: String, fileName: String, mediaType: String? = nil
    ) throws(BlobError) {
        nonisolated(unsafe) let stream = inputStream  // Safe: sent to this method, and then to the only reader.
        try self.append(
            InputStreamSource(isRepeatable: false) { stream }, byteCount, name: name, fileName: fileName, mediaType)
    }

    /// Appends the bytes of a stream as a file; a new stream is made for each reading of the body.
    ///
    /// - Parameters:
    ///   - makeStream: Returns a stream that is not open, with the same bytes each time; nil throws
    ///     ``BlobError/Code/unavailable``.
    ///   - byteCount: The number of bytes of each stream, checked as for a single stream; nil if unknown.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: The media type; nil derives it from the extension of the file name.
    public mutating func appendPart(
        makingStreams makeStream: @escaping @Sendable () -> InputStream?, byteCount: Int64?, name: String,
        fileName: String, mediaType: String? = nil
    ) throws(BlobError) {
        try self.append(
            InputStreamSource(makeStream: makeStream), byteCount, name: name, fileName: fileName, mediaType)
    }
}
