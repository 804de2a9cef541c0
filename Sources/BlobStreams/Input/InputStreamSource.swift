public import Foundation

/// A source of the bytes of any `InputStream`, created anew for each opening.
///
/// The stream's blocking reads run on their own thread while bytes are awaited, so cancelling works even though a
/// stream cannot be interrupted; the thread is released when its read returns. A repeatable source supports concurrent
/// readers.
///
/// ```swift
/// let file = InputStreamSource { InputStream(fileAtPath: path) }
/// let copy = try file.data(upTo: 1 << 20)
/// ```
public struct InputStreamSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - info: The info of the source; a declared byte count is binding.
    ///   - isRepeatable: True if each stream has the same bytes from the start; false allows a single opening.
    ///   - makeStream: A closure that returns a new, unopened stream for each call, for the exclusive use of this
    ///     source; nil is reported as ``BlobError/Code/unavailable``, a stream that was already opened as
    ///     ``BlobError/Code/misbehavingPlugin``.
    public init(
        info: BlobInfo = BlobInfo(), isRepeatable: Bool = true, makeStream: @escaping @Sendable () -> InputStream?
    ) {
        self.base = SequentialSource(
            info: info, traits: isRepeatable ? [.neverBlocks, .repeatable, .concurrentReaders] : .neverBlocks
        ) { context in
            let stream = ReadAheadStream(context) { context in
                let blocking = SequentialSource(info: info) { _ in
                    .stream(try InputStreamBytes(makeStream(), info: info), startingAt: 0)
                }
                return try blocking.open(context: context)
            }
            return .stream(stream, startingAt: 0)
        }
    }
}

private final class InputStreamBytes: BlobByteStream {
    let info: BlobInfo?
    private let stream: InputStream

    init(_ stream: InputStream?, info: BlobInfo) throws(BlobError) {
        guard let stream else { throw BlobError(.unavailable, "There is no stream to read.") }
        guard stream.streamStatus == .notOpen else {
            throw BlobError(.misbehavingPlugin, "The stream has already been opened; each reader needs its own stream.")
        }
        self.info = info
        self.stream = stream
        stream.open()
        if stream.streamStatus == .error { throw stream.failure("The stream could not be opened") }
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let count = try output.append { free in
            guard let address = free.baseAddress else { return 0 }
            let count = self.stream.read(address.assumingMemoryBound(to: UInt8.self), maxLength: free.count)
            guard count >= 0 else { throw self.stream.failure("The stream could not be read") }
            guard count <= free.count else {
                throw BlobError(.misbehavingPlugin, "The stream read \(count) bytes into a buffer of \(free.count).")
            }
            return count
        }
        return count == 0 ? .end : .bytes
    }

    func close() { self.stream.close() }
}

extension Stream {
    /// Returns the error of a stream that failed.
    ///
    /// - Parameter act: The action that failed, as the beginning of a sentence.
    func failure(_ act: String) -> BlobError {
        // On Linux, accessing `streamError` of a stream without an error crashes the process (Swift 6.3).
        guard self.streamStatus == .error, let error = self.streamError else {
            return BlobError(.io, "\(act), for an unknown reason.")
        }
        let wrapped = BlobError(wrapping: error)
        return BlobError(wrapped.code, "\(act): \(wrapped.message)", cause: error)
    }
}
