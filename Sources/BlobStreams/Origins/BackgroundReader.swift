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
        self.filler = Filler(info: info, context.makeChild(), open)
        self.filler.start()
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
}

private final class Filler: @unchecked Sendable {  // Safe: only touched in `state.update`, `reader` also by the fill.
    let state = BlobObservable(BlobReaderState())
    private let context: BlobContext
    private let open: @Sendable (BlobContext) throws -> any BlobReader
    private var knownInfo: BlobInfo
    private var reader: HandedOver<any BlobReader>?  // Used by the one fill that runs, or by `close` when none does.
    private var window = Window()
    private var isFilling = false
    private var isClosed = false

    init(
        info: BlobInfo, _ context: BlobContext,
        _ open: @escaping @Sendable (BlobContext) throws -> any BlobReader
    ) {
        self.knownInfo = info
        self.context = context
        self.open = open
    }

    deinit { self.window.free() }

    var info: BlobInfo { self.state.update { _ in self.knownInfo } }

    func start() {
        self.state.update { _ in self.isFilling = true }
        BlockingPool.shared.run { self.fill() }
    }

    func read(into output: inout OutputRawSpan) throws {
        var needsFill = false
        let failure: BlobError? = output.withUnsafeMutableBytes { buffer, initializedCount in
            self.state.update { state in
                guard !self.isClosed else { return BlobError(.closed, "The reader is closed.") }
                let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
                initializedCount += self.window.remove(into: free)
                guard self.window.isEmpty else { return nil }
                state.hasBytesAvailable = false
                needsFill = state.isOpenCompleted && !state.isAtEnd && state.error == nil && !self.isFilling
                if needsFill { self.isFilling = true }
                return free.count > 0 && initializedCount == buffer.count - free.count ? state.error : nil
            }
        }
        if needsFill { BlockingPool.shared.run { self.fill() } }
        if let failure { throw failure }
    }

    func close() {
        let reader: HandedOver<any BlobReader>? = self.state.update { state in
            guard !self.isClosed else { return nil }
            self.isClosed = true
            self.window.free()
            state.hasBytesAvailable = false
            return self.isFilling ? nil : self.reader
        }
        self.context.cancellation.cancel()
        reader?.value.close()
    }

    /// One read of the blocking reader, which is opened first if it is not. Runs on a thread of the pool.
    private func fill() {
        var window = Window()
        let result = Result {
            let reader = try self.reader?.value ?? self.open(self.context)
            self.state.update { state in
                self.reader = HandedOver(reader)
                self.knownInfo = reader.info
                state.isOpenCompleted = true
            }
            try window.fill(BackgroundReader.windowByteCount) { try reader.read(into: &$0) }
        }
        let reader: HandedOver<any BlobReader>? = self.state.update { state in
            self.isFilling = false
            if self.isClosed {
                window.free()
                return self.reader
            }
            switch result {
            case .success where window.isEmpty: state.isAtEnd = true
            case .success: state.hasBytesAvailable = true
            case .failure(let error): state.error = BlobError(wrapping: error)
            }
            self.window = window
            return nil
        }
        reader?.value.close()
    }
}

/// A piece of memory with bytes that wait.
private struct Window {
    private var memory: UnsafeMutableRawBufferPointer?
    private var bytes = 0..<0

    var isEmpty: Bool { self.bytes.isEmpty }

    mutating func fill(_ byteCount: Int, _ read: (inout OutputRawSpan) throws -> Void) throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        do {
            var output = OutputRawSpan(buffer: memory, initializedCount: 0)
            try read(&output)
            self.bytes = 0..<output.finalize(for: memory)
        } catch {
            memory.deallocate()
            throw error
        }
        self.memory = memory
        if self.bytes.isEmpty { self.free() }
    }

    mutating func remove(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let memory else { return 0 }
        let count = min(buffer.count, self.bytes.count)
        let part = self.bytes.lowerBound..<(self.bytes.lowerBound + count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[part]))
        self.bytes = part.upperBound..<self.bytes.upperBound
        if self.bytes.isEmpty { self.free() }
        return count
    }

    mutating func free() {
        self.memory?.deallocate()
        (self.memory, self.bytes) = (nil, 0..<0)
    }
}
