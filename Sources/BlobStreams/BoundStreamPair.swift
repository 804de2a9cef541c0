import Foundation

/// An input stream and an output stream with a bounded buffer between them: what is written to the one is read from the
/// other, in order, up to a clean end or an error.
///
/// The counterpart of `Stream.getBoundStreams` of Apple platforms, which Foundation on Linux lacks. For a producer that
/// writes, by events or by blocking, where the consumer wants an `InputStream`: the body of an HTTP request above all.
///
/// - ``BlobOutputStream/close()`` of the output is the end of the input; its ``BlobOutputStream/finish(throwing:)`` and
///   its release without closing are errors of the input, after the bytes so far.
/// - Closing, failing or releasing the input is an error of the output, ``BlobError/Code/closed``, and ends a write
///   that waits. As with every input stream, closing does nothing before opening.
/// - The bytes pass by once: opening the input a second time is an error, as is opening a copy of it besides.
///
/// Each end may be used on several threads, or from several run loops, by blocking calls or by events, and the other
/// end differently. No thread is kept for either.
public struct BoundStreamPair {
    /// Reads the bytes that were written.
    public let input: BlobInputStream

    /// Takes what is to be read.
    public let output: BlobOutputStream

    /// Creates a pair of streams that are not open yet.
    ///
    /// - Parameters:
    ///   - capacity: How many bytes wait between the streams at most; 1 or more. The memory exists only while bytes
    ///     wait.
    ///   - context: The terms of both streams: the deadline and the cancellation are those of the whole job, the idle
    ///     limit is that of each wait for the next byte or for room: in a call, or of whoever is to get the events.
    public init(capacity: Int = BlobPipe.defaultCapacity, context: BlobContext = BlobContext()) {
        let buffer = PipeBuffer(capacity: capacity)
        let isTaken = Locked(false)
        let source = SequentialSource(layer: "BoundStreamPair", info: BlobInfo()) { _ in
            guard !isTaken.exchange(true) else { throw BlobError(.closed, "The input stream of the pair was closed.") }
            return PipeReader(buffer, info: BlobInfo())
        }
        // Synchronous: an event-driven reader needs no thread to open or to read, and events come all the same.
        self.input = BlobInputStream(source, mode: .synchronous, context: context)
        // Once there is a reader, its closing tells the output; without one nobody else does.
        self.input.onEnded { if !isTaken.exchange(true) { buffer.closeReader() } }
        self.output = BlobOutputStream(BlobOutputEngine(buffer, reading: self.input.state, context))
    }
}
