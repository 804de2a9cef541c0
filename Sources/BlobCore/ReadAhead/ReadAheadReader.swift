/// A reader that reads another one, which may block, on threads of a pool and ahead of the consumer.
///
/// When it is closed during a call, the thread that makes the call closes the blocking reader after the call returns.
package final class ReadAheadReader: BlobLendingReader {
    /// The sizes of the first window and of the largest, in bytes.
    package static let windowByteCounts = (64 * 1024)...(1024 * 1024)

    private let ahead: ReadAhead
    private var current: Window?

    /// Starts to open the blocking reader.
    ///
    /// - Parameters:
    ///   - info: The facts known before the reader is open.
    ///   - windowByteCounts: The size of the first window and of the largest, in bytes.
    ///   - context: The context of the job; `open` receives a child of it, which is cancelled when this reader is
    ///     closed.
    ///   - open: Makes the blocking reader, on a thread of the pool.
    package init(
        info: BlobInfo = BlobInfo(), windowByteCounts: ClosedRange<Int> = ReadAheadReader.windowByteCounts,
        _ context: BlobContext, open: @escaping @Sendable (BlobContext) throws -> any BlobPluginReader
    ) {
        self.ahead = ReadAhead(info, windowByteCounts, context.makeChild(), open)
        self.ahead.start()
    }

    deinit { self.close() }

    package var info: BlobInfo { self.ahead.info }
    package var isOpen: Bool { self.ahead.isOpen }
    package var neverBlocks: Bool { true }

    package func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        switch try self.nextWindow() {
        case .window(let window):
            window.move(to: &output)
            if window.isEmpty { self.current = nil }
            return .bytes
        case .end: return .end
        case .notYet: return .notYet
        }
    }

    package func lend() -> BlobLentBytes? {
        guard case .window(let window) = try? self.nextWindow() else { return nil }
        return BlobLentBytes(window.bytes, ownedBy: window)
    }

    package func consume(_ byteCount: Int) {
        self.current?.drop(byteCount)
        if self.current?.isEmpty ?? false { self.current = nil }
    }

    package func whenReadable(_ waker: BlobWaker) { self.ahead.whenReadable(waker) }

    /// Hands over an inner reader that turned out never to block: the caller owns it from now on, and reads it in place
    /// of this one. Nil before it is open, and once bytes were read ahead.
    func takeDirect() -> (any BlobPluginReader)? { self.ahead.takeDirect() }

    package func close() {
        self.current = nil
        self.ahead.close()
    }

    private func nextWindow() throws -> ReadAhead.Next {
        if let current { return .window(current) }
        let next = try self.ahead.next()
        if case .window(let window) = next { self.current = window }
        return next
    }
}
