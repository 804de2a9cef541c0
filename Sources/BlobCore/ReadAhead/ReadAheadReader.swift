/// Reads a reader that may block on threads of the pool, ahead of its consumer.
///
/// Closing during a call leaves the blocking reader to the thread that runs it, which closes it when its call returns.
package final class ReadAheadReader: BlobLendingReader {
    private let ahead: ReadAhead
    private var current: Window?

    /// Starts to open the reader.
    ///
    /// - Parameters:
    ///   - info: The facts known before the reader is open.
    ///   - windowByteCounts: The size of the first window and of the largest.
    ///   - context: Its cancellation also ends a call that is no longer wanted.
    ///   - open: Makes the blocking reader, on a thread of the pool.
    package init(
        info: BlobInfo = BlobInfo(), windowByteCounts: ClosedRange<Int> = ReadAheadSource.windowByteCounts,
        _ context: BlobContext, open: @escaping @Sendable (BlobContext) throws -> any BlobReader
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

    /// A reader that turned out never to block: from now on the caller's, who reads it in place of this one. Nil before it
    /// is open, and once bytes were read ahead.
    func takeDirect() -> (any BlobReader)? { self.ahead.takeDirect() }

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
