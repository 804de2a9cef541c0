import Foundation

/// An input stream and an output stream with a bounded buffer between them.
///
/// Bytes that are written to the output are read from the input, in order, up to a clean end or an error. The
/// counterpart of `Stream.getBoundStreams` on Apple platforms, which Foundation on Linux lacks. For a producer that
/// writes, by events or by blocking calls, to a consumer that takes an `InputStream`, above all as the body of an HTTP
/// request.
///
/// - Closing the output, with ``BlobOutputStream/close()``, ends the input. An error passed to
///   ``BlobOutputStream/finish(throwing:)``, and the release of the output without closing, are errors of the input,
///   after the bytes written so far.
/// - Closing, failing or releasing the input is an error of the output, ``BlobError/Code/closed``, and ends a waiting
///   write. As with every input stream, closing does nothing before opening.
/// - The bytes can be read only once: opening the input a second time is an error, as is opening a copy of it as well.
///
/// Each end may be used on several threads or from several run loops, by blocking calls or by events, independently of
/// the other end. Neither end occupies a thread.
///
/// ```swift
/// let pair = BoundStreamPair()
/// var upload = request
/// upload.httpBodyStream = pair.input
///
/// let bytes = Array("Hello".utf8)
/// pair.output.open()
/// _ = pair.output.write(bytes, maxLength: bytes.count)
/// pair.output.close()
/// ```
public struct BoundStreamPair {
    /// The stream that reads the bytes written to ``output``.
    public let input: BlobInputStream

    /// The stream that accepts the bytes to be read from ``input``.
    public let output: BlobOutputStream

    /// Creates a pair of streams that are not open yet.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of bytes buffered between the streams, from 1. The memory exists only while
    ///     bytes are buffered.
    ///   - context: The context of both streams. Its deadline and cancellation apply to the whole job, its idle limit
    ///     to each wait for the next byte or for room, whether in a call or for an event.
    public init(capacity: Int = BlobPipe.defaultCapacity, context: BlobContext = BlobContext()) {
        let buffer = PipeBuffer(capacity: capacity)
        let isTaken = Locked(false)
        let source = SequentialSource(layer: "BoundStreamPair", info: BlobInfo()) { _ in
            guard !isTaken.exchange(true) else { throw BlobError(.closed, "The input stream of the pair was closed.") }
            return PipeReader(buffer, info: BlobInfo())
        }
        // Synchronous: an event-driven reader needs no thread to open or to read, and events are sent all the same.
        self.input = BlobInputStream(source, mode: .synchronous, context: context)
        // Once there is a reader, closing it notifies the output; before that, only this handler does.
        self.input.onEnded { if !isTaken.exchange(true) { buffer.closeReader() } }
        self.output = BlobOutputStream(BlobOutputEngine(buffer, reading: self.input.state, context))
    }
}
