import BlobCore
import BlobPlatform

/// Reads a source ahead of the connection on a pool thread.
///
/// The thread is released while the ring is full, and while an event-driven source has no bytes. A source that blocks
/// therefore delays only itself: an early response is noticed, and a cancellation takes effect immediately. If the
/// length is known, the bytes that complete the body are held back until the next read has returned, which means that
/// the source has verified its end.
final class BodyPump: @unchecked Sendable {  // Safe: one filling job, one consumer; they share `state`, never a byte.
    enum Supply {
        case bytes(Int), end, pending
        case failed(BlobError)
    }

    private struct State {
        var start = 0
        var count = 0
        var heldByteCount = 0  // The number of bytes at the end that may not be sent yet.
        var info = BlobInfo()
        var isFilling = false
        var hasJobBegun = false
        var isEnded = false
        var isStopped = false
        var isClosed = false
        var failure: BlobError?
        var isConsumerWaiting = false
        /// The number of available bytes for which the consumer is woken. The end and an error always wake it.
        var readyByteCount = 1

        var available: Int { self.count - self.heldByteCount }
        var isReady: Bool { self.available >= self.readyByteCount || self.isEnded || self.failure != nil }
    }

    private static let maximumCapacity = 512 * 1024
    private static let minimumCapacity = 4 * 1024

    /// The number of bytes that the rings of all pumps share, unless this would make a ring shorter than the minimum.
    private static let sharedCapacity = 16 << 20
    private static let minimumShare = 64 * 1024
    private static let pumpCount = Locked(0)

    /// The maximum length of a source to read immediately, on the thread that starts the pump.
    private static let smallByteCount: Int64 = 64 * 1024

    private let reader: BlobReader
    private let isChunked: Bool
    private let isSmall: Bool
    private let memory: UnsafeMutableRawBufferPointer
    private let state: Locked<State>
    private let wake: @Sendable () -> Void
    private var readByteCount: Int64 = 0  // The number of bytes read; used by the job only.
    private lazy var info = self.reader.info  // Used by the job only, after its first read, when the info is final.

    /// - Parameters:
    ///   - reader: The reader of the body, positioned at the first byte. The pump closes it.
    ///   - isChunked: True if no length is announced and the body ends where the source ends.
    ///   - wake: Called on the job's thread when bytes, the end or an error arrive while the consumer waits, and when
    ///     the reader has closed after ``stop()``.
    init(_ reader: BlobReader, isChunked: Bool, wake: @escaping @Sendable () -> Void) {
        self.reader = reader
        self.isChunked = isChunked
        self.state = Locked(State())
        self.wake = wake
        let byteCount = reader.isOpen ? reader.info.byteCount : nil
        self.isSmall = byteCount ?? .max <= Self.smallByteCount
        // Twice the length of a small source, so that there is space to read its end.
        let wanted = byteCount.map { $0 > Self.maximumCapacity ? $0 : 2 * $0 } ?? .max
        let pumpCount = Self.pumpCount.withLock { count in
            count += 1
            return count
        }
        let share = min(max(Self.sharedCapacity / pumpCount, Self.minimumShare), Self.maximumCapacity)
        let capacity = min(max(Int(clamping: wanted), Self.minimumCapacity), share)
        self.memory = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        Self.pumpCount.withLock { $0 -= 1 }
        self.memory.deallocate()
    }

    /// The capacity of the ring in bytes.
    var capacity: Int { self.memory.count }

    /// Starts reading. Blocks while a source of at most 64 KiB is read.
    func start() {
        self.state.withLock { $0.isFilling = true }
        if self.isSmall { self.fill() } else { self.runJob() }
    }

    private func runJob() {
        self.state.withLock { $0.hasJobBegun = false }
        BlockingPool.reads.run { self.fill() }
        // If the system starts no thread, the job waits for the next thread, perhaps endlessly. A job that has begun
        // may already have left the pool.
        guard BlockingPool.reads.threadCount == 0 else { return }
        let mustWake = self.state.withLock { state in
            guard !state.hasJobBegun else { return false }
            state.failure = BlobError(
                .unavailable, "Could not start a thread to read the source.", operation: "read", isTransient: true)
            defer { state.isConsumerWaiting = false }
            return state.isConsumerWaiting
        }
        if mustWake { self.wake() }
    }

    /// Returns true if `byteCount` bytes, from 1 to 2 KiB, the end, or an error is available; otherwise, `wake` is
    /// called later.
    func isReady(_ byteCount: Int = 1) -> Bool {
        self.state.withLock { state in
            state.readyByteCount = byteCount
            state.isConsumerWaiting = !state.isReady
            return state.isReady
        }
    }

    /// The info of the source, valid once ``isReady()`` has returned true.
    var sourceInfo: BlobInfo { self.state.withLock { $0.info } }

    /// Calls `body` with all bytes that are available. Call this method before the first call to ``take(into:)``.
    func withBeginning<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(rebasing: self.memory[..<self.state.withLock { $0.available }]))
    }

    /// Returns the whole body if it has been read, has `byteCount` bytes, and no bytes were taken. The result is valid
    /// for the lifetime of this pump.
    func wholeBody(_ byteCount: Int64) -> UnsafeRawBufferPointer? {
        let isWhole = self.state.withLock { state in
            state.isEnded && state.failure == nil && state.start == 0 && state.available == byteCount
        }
        return isWhole ? UnsafeRawBufferPointer(rebasing: self.memory[..<Int(byteCount)]) : nil
    }

    /// The error that ended the reading; nil if no error occurred.
    var failure: BlobError? { self.state.withLock { $0.failure } }

    /// Moves the next bytes to `buffer`, which must not be empty.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Supply {
        let (start, count, answer) = self.state.withLock { state -> (Int, Int, Supply?) in
            if let failure = state.failure { return (0, 0, .failed(failure)) }
            state.readyByteCount = 1
            state.isConsumerWaiting = !state.isReady
            if state.available > 0 { return (state.start, min(state.available, buffer.count), nil) }
            return (0, 0, state.isEnded ? .end : .pending)
        }
        if let answer { return answer }
        let first = min(count, self.memory.count - start)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: self.memory[start..<(start + first)]))
        UnsafeMutableRawBufferPointer(rebasing: buffer[first...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: self.memory[..<(count - first)]))
        let mustStart = self.state.withLock { state in
            state.start = (state.start + count) % self.memory.count
            state.count -= count
            guard !state.isFilling, !state.isEnded, !state.isStopped, state.failure == nil else { return false }
            state.isFilling = state.count <= self.memory.count / 2
            return state.isFilling
        }
        if mustStart { self.runJob() }
        return .bytes(count)
    }

    /// Ends the reading. Cancel its context first, because a read in progress closes the reader only when it returns.
    func stop() {
        let isFilling = self.state.withLock { state in
            (state.isStopped, state.isClosed) = (true, !state.isFilling)
            return state.isFilling
        }
        if !isFilling { self.reader.close() }
    }

    /// True once the reader is closed after ``stop()``.
    var isClosed: Bool { self.state.withLock { $0.isClosed } }

    // MARK: The job

    private func fill() {
        self.state.withLock { $0.hasJobBegun = true }
        while let room = self.nextRoom() {
            do {
                var output = OutputRawSpan(buffer: room, initializedCount: 0)
                let result = try self.reader.read(into: &output)
                let count = output.finalize(for: room)
                guard result != .notYet else { return self.continueLater() }
                self.publish(result == .bytes ? .bytes(count) : .end)
            } catch {
                self.publish(.failed(BlobError(wrapping: error)))
            }
        }
    }

    /// Continues when bytes, the end or an error is available.
    private func continueLater() {
        // The next job begins after both this call and the waker's call, because a reader allows only one call at a
        // time.
        let isFirst = Locked(false)
        let runSecond: @Sendable () -> Void = { if isFirst.exchange(true) { self.runJob() } }
        self.reader.whenReadable(BlobWaker(runSecond))
        runSecond()
    }

    /// Returns the free memory for the next read; nil to end the job.
    private func nextRoom() -> UnsafeMutableRawBufferPointer? {
        let (start, count, isStopped) = self.state.withLock { state -> (Int, Int, Bool) in
            let free = self.memory.count - state.count
            let isOver = state.isEnded || state.failure != nil || state.isStopped
            guard !isOver, free >= self.memory.count / 4 else {
                state.isFilling = false
                return (0, 0, state.isStopped)
            }
            let end = (state.start + state.count) % self.memory.count
            // At most half of the ring, so that the held-back bytes leave room for the next read.
            return (end, min(free, self.memory.count - end, self.memory.count / 2), false)
        }
        if isStopped {
            self.reader.close()
            self.state.withLock { $0.isClosed = true }
            self.wake()
        }
        return count > 0 ? UnsafeMutableRawBufferPointer(rebasing: self.memory[start..<(start + count)]) : nil
    }

    private func publish(_ supply: Supply) {
        let info = self.info
        let byteCount = self.isChunked ? nil : info.byteCount
        let failure = self.failure(in: supply, byteCount)
        let mustWake = self.state.withLock { state in
            state.info = info
            // The media type does not need to be detected.
            if info.mediaType != nil { state.readyByteCount = 1 }
            if let failure {
                state.failure = failure
            } else if case .bytes(let count) = supply {
                state.count += count
                state.heldByteCount = self.readByteCount == byteCount ? count : 0
            } else {
                state.isEnded = true
                state.heldByteCount = 0
            }
            defer { if state.isReady { state.isConsumerWaiting = false } }
            return state.isConsumerWaiting && state.isReady
        }
        if mustWake { self.wake() }
    }

    /// Checks the length of the source, because the length of a body must never differ from its header.
    private func failure(in supply: Supply, _ byteCount: Int64?) -> BlobError? {
        switch supply {
        case .failed(let error): return error
        case .bytes(let count): self.readByteCount += Int64(count)
        case .end, .pending: break
        }
        guard let byteCount else { return nil }
        let isEnd = if case .end = supply { true } else { false }
        guard isEnd ? self.readByteCount != byteCount : self.readByteCount > byteCount else { return nil }
        return BlobError(
            .sizeMismatch,
            "The source has \(isEnd ? "only" : "at least") \(self.readByteCount) bytes, not \(byteCount).",
            operation: "read", byteOffset: self.readByteCount)
    }
}
