import BlobCore
import BlobPlatform

/// A thread for calls that may never return; its owner can abandon it.
///
/// Has one owner, which makes one call at a time. The thread ends with this object, or when the abandoned call returns.
final class AbandonableThread: Sendable {
    /// The maximum number of abandoned threads in the process at any time.
    static let maximumAbandonedCount = 4

    private static let abandonedCount = Locked(0)

    /// The state shared by the thread and its owner; it outlives the owner when a call is abandoned.
    private final class SharedState: Sendable {
        struct State {
            var job: (@Sendable () -> Void)?
            var isStopped = false
            var isAbandoned = false
        }

        let state = Locked(State())
        let jobSignal = WaitSignal()
        let doneSignal = WaitSignal()

        func work() {
            while true {
                _ = self.jobSignal.wait(for: nil)
                let (job, isStopped) = self.state.withLock { state in
                    defer { state.job = nil }
                    return (state.job, state.isStopped)
                }
                job?()
                let isAbandoned = self.state.withLock { $0.isAbandoned }
                if isAbandoned { AbandonableThread.abandonedCount.withLock { $0 -= 1 } }
                if isAbandoned || isStopped { return }
                if job != nil { self.doneSignal.signal() }
            }
        }
    }

    private let sharedState = SharedState()

    /// - Throws: ``BlobError/Code/limitExceeded`` while too many threads are abandoned; ``BlobError/Code/unavailable``
    ///   if the system cannot start a thread.
    init() throws(BlobError) {
        guard Self.abandonedCount.withLock({ $0 }) < Self.maximumAbandonedCount else {
            throw BlobError(
                .limitExceeded,
                "The limit of \(Self.maximumAbandonedCount) abandoned threads that are still running libarchive "
                    + "has been reached.",
                isTransient: true)
        }
        let sharedState = self.sharedState
        guard startThread(named: "libarchive", { sharedState.work() }) else {
            throw BlobError(.unavailable, "The system could not start a thread.")
        }
    }

    deinit {
        self.sharedState.state.withLock { $0.isStopped = true }
        self.sharedState.jobSignal.signal()
    }

    /// Runs `job` on the thread, and waits for it until the context is cancelled or its deadline passes.
    ///
    /// - Throws: Any error thrown by `job`; ``BlobError/Code/cancelled`` and ``BlobError/Code/timedOut``, after which
    ///   `job` may still be running and every later call throws ``BlobError/Code/closed``.
    func run<Value: Sendable>(
        _ context: BlobContext, _ job: @escaping @Sendable () throws(BlobError) -> Value
    ) throws(BlobError) -> Value {
        let sharedState = self.sharedState
        let result = Locked<Result<Value, BlobError>?>(nil)
        let isFree = sharedState.state.withLock { state in
            guard !state.isAbandoned else { return false }
            state.job = {
                let value = Result { () throws(BlobError) in try job() }
                result.withLock { $0 = value }
            }
            return true
        }
        guard isFree else {
            throw BlobError(.closed, "The archive was closed because an earlier read was cancelled or timed out.")
        }
        sharedState.jobSignal.signal()
        do throws(BlobError) {
            return try context.wait(on: sharedState.doneSignal) { () throws(BlobError) in result.withLock { $0 } }.get()
        } catch {
            // Checked under the lock under which the thread reads `isAbandoned` after its job.
            sharedState.state.withLock { state in
                guard result.withLock({ $0 == nil }), !state.isAbandoned else { return }
                state.isAbandoned = true
                Self.abandonedCount.withLock { $0 += 1 }
            }
            throw error
        }
    }
}

/// A walker over an archive that libarchive reads on a separate thread, for formats whose reader may loop.
final class AbandonableWalker: EntryWalker {
    /// The walker, shared by the thread and its owner.
    ///
    /// The thread uses it while the owner waits, and the owner uses it between calls; after the thread is abandoned,
    /// only the thread uses it.
    private final class Holder: @unchecked Sendable {  // Safe: one of two threads waits for the other.
        var walker: ArchiveWalker?
    }

    /// Bytes in libarchive's memory, valid until the next call.
    private struct LentBlock: @unchecked Sendable {  // Safe for the same reason as the holder.
        let bytes: UnsafeRawBufferPointer
        let byteOffset: Int64
    }

    private let thread: AbandonableThread
    private let holder: Holder
    private let context: BlobContext
    private(set) var current: ArchiveEntry?

    let baseInfo: BlobInfo
    let isSequential: Bool
    let check: String?

    init(
        _ format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) {
        self.context = context
        self.check = format.memberChecksum
        self.thread = try AbandonableThread()
        let holder = Holder()
        self.holder = holder
        (self.baseInfo, self.isSequential) = try self.thread.run(context) { () throws(BlobError) in
            let walker = try ArchiveWalker(format, over: base, context)
            holder.walker = walker
            return (walker.baseInfo, walker.isSequential)
        }
    }

    deinit {
        // Releasing the walker also calls libarchive, so the job holds the last reference to it.
        let holder = self.holder
        try? self.thread.run(self.context) { holder.walker = nil }
    }

    func advance() throws(BlobError) -> Bool {
        let holder = self.holder
        let next = try self.thread.run(self.context) { () throws(BlobError) in try holder.walker?.next() }
        guard let next else { return false }
        self.current = next
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        let holder = self.holder
        let lent = try self.thread.run(self.context) { () throws(BlobError) -> LentBlock? in
            guard let (bytes, byteOffset) = try holder.walker?.nextBlock() else { return nil }
            return LentBlock(bytes: bytes, byteOffset: byteOffset)
        }
        return (lent?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0), lent?.byteOffset ?? 0)
    }

    func finish() throws(BlobError) {
        let holder = self.holder
        try self.thread.run(self.context) { () throws(BlobError) in try holder.walker?.finish() }
    }
}
