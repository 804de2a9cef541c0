/// The waits of a ``BlobReader``: their limits, and the events besides the plugin's that fire the slot.
struct ReaderWait {
    /// True if the limits apply to a wait that begins now; false while no consumer waits for bytes that are not
    /// available yet.
    var isLimited = true
    private var stepLimit: BlobContext.StepLimit?  // The limit of the current wait.
    private var slot: BlobWakerSlot?
    private var cancellationRegistration: BlobRegistration?
    private var timer: (wait: TimerWait, end: CompactInstant)?
    private var blocked: (signal: WaitSignal, waker: BlobWaker)?
    /// True if the consumer's waker was stored in the slot; it may have been called since.
    private(set) var hasWaker = false

    /// Begins a wait for `slot`, which a cancellation and the end of the time limit also fire.
    ///
    /// - Throws: ``BlobError/Code/timedOut`` for a wait that took too long.
    mutating func begin(_ context: BlobContext, _ slot: BlobWakerSlot) throws(BlobError) {
        self.attach(to: slot, context)
        guard self.isLimited else { return }
        let limit = self.stepLimit ?? context.stepLimit()
        self.stepLimit = limit
        guard let end = limit.deadline else { return }
        guard CompactInstant.now < end else { throw limit.error(idleLimit: context.idleLimit) }
        // A pending timer that is earlier fires early, and the next wait sets another timer.
        if let timer, timer.end <= end, !timer.wait.isOver { return }
        self.timer = (TimerWait(end.remaining, context, firing: slot), end)
    }

    /// Prepares `slot` for the consumer's waker, which replaces the previous one.
    ///
    /// - Returns: False if the last unsuccessful read waited for another slot: nothing will fire this slot, and the
    ///   waker is to be called at once.
    mutating func beginStoring(in slot: BlobWakerSlot, _ context: BlobContext) -> Bool {
        let isAsked = !self.isOver(slot)
        if !isAsked { self.takeWaker() }
        self.attach(to: slot, context)
        self.hasWaker = isAsked
        return isAsked
    }

    /// Removes the consumer's waker if it was stored in a slot other than `slot`, the slot of the stream; nil if it was
    /// stored in this slot, or was called.
    mutating func takeWaker(unlessIn slot: BlobWakerSlot?) -> BlobWaker? {
        self.isOver(slot) ? self.takeWaker() : nil
    }

    private func isOver(_ slot: BlobWakerSlot?) -> Bool { self.slot != nil && self.slot !== slot }

    /// Removes the consumer's waker; nil if no waker is stored, or it was called. Other consumers' wakers stay: a
    /// reader over this one may wait for the same slot.
    @discardableResult
    private mutating func takeWaker() -> BlobWaker? {
        guard self.hasWaker else { return nil }
        self.hasWaker = false
        return self.slot?.clear()
    }

    /// Makes a cancellation fire `slot`, and moves the consumer's waker to it if it was not called.
    private mutating func attach(to slot: BlobWakerSlot, _ context: BlobContext) {
        guard slot !== self.slot else { return }
        if let waker = self.takeWaker() {
            self.hasWaker = true
            slot.store(waker)
        }
        (self.slot, self.timer) = (slot, nil)
        self.cancellationRegistration = context.cancellation.onCancel { [weak slot] in slot?.fire() }
    }

    /// True from an unsuccessful read until the next bytes arrive.
    var isWaiting: Bool { self.stepLimit != nil }

    mutating func end() { self.stepLimit = nil }

    /// Returns a waker that ends the next ``block()``.
    mutating func unblocker() -> BlobWaker {
        let blocked = self.blocked ?? { signal in (signal, BlobWaker { signal.signal() }) }(WaitSignal())
        self.blocked = blocked
        return blocked.waker
    }

    func block() { BlockingPool.runOutside { _ = self.blocked?.signal.wait(for: nil) } }

    /// Removes the consumer's waker, and ends the registrations.
    mutating func close() {
        self.takeWaker()
        (self.slot, self.cancellationRegistration, self.timer) = (nil, nil, nil)
    }
}

extension BlobReader {
    /// Reads at most `byteCount` bytes, for streams that end before their base ends.
    ///
    /// - Parameters:
    ///   - output: The memory to which the bytes are appended.
    ///   - byteCount: The maximum number of bytes to append; with 0 or less, nothing is read and the result is `bytes`.
    public func read(into output: inout OutputRawSpan, atMost byteCount: Int) throws -> BlobReadResult {
        var result = BlobReadResult.bytes
        try output.append(atMost: byteCount) { part in
            if part.freeCapacity > 0 { result = try self.read(into: &part) }
        }
        return result
    }

    /// Reads the next bytes, waiting until bytes are available; never returns ``BlobReadResult/notYet``.
    ///
    /// - Throws: The errors of ``read(into:)``; ``BlobError/Code/misbehavingPlugin`` on the thread that waits for
    ///   descriptors and timers, because waiting there would stop all other waits.
    public func readBlocking(into output: inout OutputRawSpan) throws -> BlobReadResult {
        while true {
            let result = try self.read(into: &output)
            guard result == .notYet else { return result }
            try self.block()
        }
    }

    /// Returns the next `byteCount` bytes as ``peek(_:)`` does, but waits until they are available.
    package func peekBlocking(_ byteCount: Int) throws -> BlobBytes {
        while true {
            if let bytes = try self.peek(byteCount) { return bytes }
            try self.block()
        }
    }

    private func block() throws {
        guard !EventLoop.isCurrentThread else {
            throw self.fail(BlobError(.misbehavingPlugin, "A read must not block the thread that calls wakers."))
        }
        self.whenReadable(self.changeWait { $0.unblocker() })
        self.wait.block()
    }

    /// Reads the next bytes into memory that the caller owns, waiting until bytes are available.
    ///
    /// - Parameter buffer: The memory, which is filled from the front. If it is empty, nothing is read.
    /// - Returns: The number of bytes read; 0 means the end if the buffer is not empty.
    public func readBlocking(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        _ = try self.readBlocking(into: &output)
        return output.finalize(for: buffer)
    }

    /// Reads to the end, waiting while no bytes are available.
    ///
    /// - Parameters:
    ///   - byteCount: The size of the buffer in bytes; by default 128 KiB, the size at which reading from the page
    ///     cache is fastest.
    ///   - body: A closure that receives the bytes of each read, which are valid during the call.
    package func forEachPiece(
        ofAtMost byteCount: Int = 128 * 1024, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
        defer { buffer.deallocate() }
        while case let count = try self.readBlocking(into: buffer), count > 0 {
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
