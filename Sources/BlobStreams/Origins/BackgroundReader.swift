import Foundation

/// Makes a blocking reader event-driven: a thread of the pool opens it and fills one window when the last one is empty.
///
/// No thread waits while bytes do, and no memory is held while none do. Closing during a fill leaves the fill to the
/// thread that runs it, which closes the blocking reader when its call returns.
public final class BackgroundReader: BlobReader {
    /// As much as a pipe holds.
    public static let windowByteCount = BlobPipe.defaultCapacity

    private let filler: Filler

    /// Starts to open the blocking reader.
    ///
    /// - Parameters:
    ///   - info: What is known before the reader is open.
    ///   - context: Whose cancellation also ends a fill that this reader no longer wants.
    ///   - open: Makes the blocking reader, on a thread of the pool.
    public init(
        info: BlobInfo = BlobInfo(), _ context: BlobContext,
        open: @escaping @Sendable (BlobContext) throws -> any BlobReader
    ) {
        self.filler = Filler(info: info, PooledReader(context.makeChild(), open: open))
        self.filler.fill()
    }

    /// Takes over a reader that is open, and blocks.
    init(info: BlobInfo, _ reader: PooledReader) {
        self.filler = Filler(info: info, reader)
        self.filler.state.update { $0.isOpenCompleted = true }
        self.filler.fill()
    }

    deinit { self.filler.close() }

    /// What is known of the bytes; more once the blocking reader is open.
    public var info: BlobInfo { self.filler.info }
    /// Open once the blocking reader is.
    public var readiness: BlobObservable<BlobReaderState>? { self.filler.state }

    /// Takes from the window; an emptied one is filled again.
    public func read(into output: inout OutputRawSpan) throws { try self.filler.read(into: &output) }

    /// Ends a fill that runs, and closes the blocking reader.
    public func close() { self.filler.close() }

    func lendWindow() -> LentWindow? { self.filler.lendWindow() }
}

private final class Filler: @unchecked Sendable {  // Safe: everything that changes is only touched in `state.update`.
    let state = BlobObservable(BlobReaderState())
    private let reader: PooledReader
    private var knownInfo: BlobInfo
    private var window: Window?
    private var isFilling = false
    private var isClosed = false

    init(info: BlobInfo, _ reader: PooledReader) {
        self.knownInfo = info
        self.reader = reader
    }

    var info: BlobInfo { self.state.update { _ in self.knownInfo } }

    func read(into output: inout OutputRawSpan) throws {
        var needsFill = false
        let failure: BlobError? = output.withUnsafeMutableBytes { buffer, initializedCount in
            self.state.update { state in
                guard !self.isClosed else { return BlobError(.closed, "The reader is closed.") }
                let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
                let count = self.window?.remove(into: free) ?? 0
                initializedCount += count
                guard self.window?.isEmpty ?? true else { return nil }
                self.window = nil
                state.hasBytesAvailable = false
                needsFill = state.isOpenCompleted && !state.isAtEnd && state.error == nil && !self.isFilling
                return free.count > 0 && count == 0 ? state.error : nil
            }
        }
        if needsFill { self.fill() }
        if let failure { throw failure }
    }

    func close() {
        self.state.update { state in
            self.isClosed = true
            self.window = nil
            state.hasBytesAvailable = false
        }
        self.reader.close()
    }

    func lendWindow() -> LentWindow? {
        self.state.update { _ in self.window.map { LentWindow(bytes: $0.bytes, owner: $0) } }
    }

    /// One read of the blocking reader, on a thread of the pool.
    func fill() {
        self.state.update { _ in self.isFilling = true }
        self.reader.run { reader in
            let info = reader.info
            self.state.update { state in
                self.knownInfo = info
                state.isOpenCompleted = true
            }
            return try Window(BackgroundReader.windowByteCount) { try reader.read(into: &$0) }
        } completion: { result in
            self.state.update { state in
                self.isFilling = false
                guard !self.isClosed else { return }
                switch result {
                case .success(let window) where window.isEmpty: state.isAtEnd = true
                case .success(let window):
                    self.window = window
                    state.hasBytesAvailable = true
                case .failure(let error): state.error = error
                }
            }
        }
    }
}

/// A piece of memory with bytes that wait.
private final class Window: @unchecked Sendable {  // Safe: made by one thread, handed over, then used under a lock.
    private let memory: UnsafeMutableRawBufferPointer
    private var part = 0..<0

    init(_ byteCount: Int, _ read: (inout OutputRawSpan) throws -> Void) throws {
        self.memory = .allocate(byteCount: byteCount, alignment: 16)
        var output = OutputRawSpan(buffer: self.memory, initializedCount: 0)
        try read(&output)
        self.part = 0..<output.finalize(for: self.memory)
    }

    deinit { self.memory.deallocate() }

    var isEmpty: Bool { self.part.isEmpty }
    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: self.memory[self.part]) }

    func remove(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, self.part.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: self.bytes.prefix(count)))
        self.part = (self.part.lowerBound + count)..<self.part.upperBound
        return count
    }
}
