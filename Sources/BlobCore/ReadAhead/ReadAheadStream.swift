/// A stream that reads another reader, which may block, on threads of a pool and ahead of the consumer.
///
/// When it is closed during a call, the thread that makes the call closes the blocking reader after the call returns.
package final class ReadAheadStream: BlobByteStream, LateStream {
    /// The sizes of the first window and of the largest, in bytes.
    package static let windowByteCounts = (64 * 1024)...(1024 * 1024)

    private let ahead: ReadAhead
    private var current: BlobBytes?

    /// Starts to open the blocking reader.
    ///
    /// - Parameters:
    ///   - info: The facts known before the reader is open.
    ///   - windowByteCounts: The size of the first window and of the largest, in bytes.
    ///   - context: The context of the job; `open` receives a child of it, which is cancelled when this stream is
    ///     closed.
    ///   - open: Makes the blocking reader, on a thread of the pool.
    package init(
        windowByteCounts: ClosedRange<Int> = ReadAheadStream.windowByteCounts,
        _ context: BlobContext, open: @escaping @Sendable (BlobContext) throws -> BlobReader
    ) {
        self.ahead = ReadAhead(windowByteCounts, context.makeChild(), open)
        self.ahead.start()
    }

    package var info: BlobInfo? { get throws { try self.ahead.knownInfo() } }
    package var neverBlocks: Bool { true }
    package var readiness: BlobWakerSlot? { self.ahead.slot }

    package func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.current == nil {
            switch try self.ahead.next() {
            case .window(let bytes): self.current = bytes
            case .end: return .end
            case .notYet: return .notYet
            }
        }
        self.current?.move(to: &output)
        if self.current?.isEmpty == true { self.current = nil }
        return .bytes
    }

    package func take(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? {
        if self.current == nil { self.current = try self.ahead.nextWindow() }
        let first = self.current?.removeFirst(atMost: byteCount)
        if self.current?.isEmpty == true { self.current = nil }
        return first
    }

    /// Hands over an inner reader that turned out never to block, which is read in place of this stream.
    package func successor(isOpening: Bool) -> StartedStream? { self.ahead.takeDirect()?.takeStream() }

    package func close() {
        self.current = nil
        self.ahead.close()
    }
}
