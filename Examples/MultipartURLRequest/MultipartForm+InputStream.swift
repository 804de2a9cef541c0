public import BlobStreams
public import Foundation
public import MultipartFormData

/// Methods that append a part with the bytes of an `InputStream`.
///
/// The methods throw the same errors as the methods of `MultipartForm`, and then append nothing.
extension MultipartForm {
    /// Appends the bytes of a stream as a file. The body can then be read only once, and not again after a redirection.
    ///
    /// - Parameters:
    ///   - inputStream: A stream that is not open. Do not use it elsewhere from now on.
    ///   - byteCount: The number of bytes in the stream, at least 0. Reading the body fails if the stream has fewer or
    ///     more bytes. If the value is nil, the length of the body is unknown.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: The media type; nil to derive it from the extension of the file name.
    public mutating func appendPart(
        inputStream: sending InputStream, byteCount: Int64?, name: String, fileName: String, mediaType: String? = nil
    ) throws(BlobError) {
        nonisolated(unsafe) let stream = inputStream  // Safe: sent to this method, and then to the only reader.
        try self.append(
            InputStreamSource(isRepeatable: false) { stream }, byteCount, name: name, fileName: fileName, mediaType)
    }

    /// Appends the bytes of a stream as a file. A new stream is created each time the body is read.
    ///
    /// - Parameters:
    ///   - makeStream: Returns a stream that is not open, with the same bytes each time; nil to throw
    ///     ``BlobError/Code/unavailable``.
    ///   - byteCount: The number of bytes in each stream, checked as for a single stream; nil if unknown.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: The media type; nil to derive it from the extension of the file name.
    public mutating func appendPart(
        makingStreams makeStream: @escaping @Sendable () -> InputStream?, byteCount: Int64?, name: String,
        fileName: String, mediaType: String? = nil
    ) throws(BlobError) {
        try self.append(
            InputStreamSource(makeStream: makeStream), byteCount, name: name, fileName: fileName, mediaType)
    }
}
