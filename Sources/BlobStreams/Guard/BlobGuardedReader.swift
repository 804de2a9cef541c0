/// A reader that holds its plugin to the contract and gives its errors their context.
///
/// The innermost layer, always on. Checks C1, C2, C3, C5, C7, C8 and C14 of the contracts; looks at the context before
/// each read. Adds a few comparisons and no copy to a read.
public final class BlobGuardedReader: BlobLendingReader {
    private enum Phase {
        case reading, ended, closed
        case failed(BlobError)
    }

    let inner: any BlobReader
    // Looked up once: to ask whether an object has a protocol takes longer than a call of it.
    let lending: (any BlobLendingReader)?
    private let skipping: (any BlobSkippingReader)?
    private let source: any BlobInputStreamDataSource
    let context: BlobContext
    private let validator: BlobValidator?
    private var phase = Phase.reading
    private var openingIsChecked = false
    private var byteCount: Int64?  // As declared, once the opening is checked.
    private var skipped = BytesToSkip(0)
    private var limit: BlobContext.StepLimit?  // Of the wait that goes on.
    private var relay: (WakerRelay, waker: BlobWaker)?
    /// Whether waits begin now: false while nobody waits for what a read may not bring yet.
    var isWaitLimited = true
    private var blocked: (signal: WaitSignal, waker: BlobWaker)?

    /// The offset of the next byte that the plugin reads, from the start of the blob.
    private var readOffset: Int64

    init(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64, matching validator: BlobValidator?,
        context: BlobContext
    ) throws(BlobError) {
        self.source = source
        self.validator = validator
        self.context = context
        self.readOffset = byteOffset
        do {
            try context.check()
            try BlobInfo().check(byteOffset: byteOffset, matching: nil)
            self.inner = try source.openReader(at: byteOffset, matching: validator, context: context)
        } catch {
            throw BlobError(wrapping: error).passing(
                layer: source.layerName, operation: .open, locator: source.locator?.description, byteOffset: byteOffset)
        }
        (self.lending, self.skipping) = (self.inner as? any BlobLendingReader, self.inner as? any BlobSkippingReader)
        guard self.inner.isOpen else { return }
        do {
            try self.checkOpening()
        } catch {
            self.inner.close()
            throw self.inContext(error, .open)
        }
    }

    deinit { self.close() }

    /// Passed on from the plugin.
    public var info: BlobInfo { self.inner.info }

    /// Passed on from the plugin.
    public var isOpen: Bool { self.inner.isOpen }

    /// True when neither the source nor this reader of it ever blocks.
    public var neverBlocks: Bool { self.inner.neverBlocks || self.source.neverBlocks }

    /// The offset of the next byte, from the start of the blob.
    public var byteOffset: Int64 { self.readOffset + self.skipped.rest }

    /// True once a read met the end and every check of the end passed.
    public var hasEnded: Bool {
        if case .ended = self.phase { true } else { false }
    }

    // MARK: Reading

    /// Reads the next bytes; see ``BlobReader/read(into:)``. An output without room reads nothing, and says `bytes`.
    public func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        switch self.phase {
        case .ended: return .end
        case .failed(let error): throw error
        case .closed: throw self.inContext(BlobError(.closed, "The reader is closed."), .read)
        case .reading: break
        }
        guard output.freeCapacity > 0 else { return .bytes }
        do {
            try self.context.check()
            let result = try self.skipAndRead(into: &output)
            if result == .notYet { try self.checkWait() } else if self.limit != nil { self.limit = nil }
            return result
        } catch {
            throw self.fail(error)
        }
    }

    /// Reads the next bytes, waiting while there are none: never says ``BlobReadResult/notYet``.
    ///
    /// - Throws: As ``read(into:)``; ``BlobError/Code/misbehavingPlugin`` on the thread that waits for descriptors and
    ///   timers, where waiting would stop everything.
    public func readWaiting(into output: inout OutputRawSpan) throws -> BlobReadResult {
        while true {
            let result = try self.read(into: &output)
            guard result == .notYet else { return result }
            guard !EventLoop.isCurrentThread else {
                throw self.fail(BlobError(.misbehavingPlugin, "A read waits on the thread that wakes those who wait."))
            }
            let blocked = self.blocked ?? { signal in (signal, BlobWaker { signal.signal() }) }(WaitSignal())
            self.blocked = blocked
            self.whenReadable(blocked.waker)
            BlockingPool.leave { _ = blocked.signal.wait(for: nil) }
        }
    }

    /// Reads the next bytes into memory that the caller owns, waiting while there are none.
    ///
    /// - Parameter buffer: The memory, filled from the front; an empty one reads nothing.
    /// - Returns: The number of bytes read; 0 with room in the buffer is the end.
    public func readWaiting(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        _ = try self.readWaiting(into: &output)
        return output.finalize(for: buffer)
    }

    /// Has `waker` called once when a read is worth trying again, which is also when the job is cancelled or its time is
    /// up; see ``BlobReader/whenReadable(_:)``.
    public func whenReadable(_ waker: BlobWaker) {
        guard case .reading = self.phase else {
            if case .closed = self.phase { return }
            return waker.wake()
        }
        let relay = self.relay ?? { relay in (relay, relay.makeWaker()) }(WakerRelay())
        self.relay = relay
        relay.0.prepare(waker, self.context, until: self.limit?.end)
        self.inner.whenReadable(relay.waker)
    }

    /// Passes over bytes: they are dropped by the next read, or at no cost by readers that can.
    ///
    /// - Parameter byteCount: From 0. The next read throws ``BlobError/Code/invalidArgument`` when that is past the end.
    public func skip(_ byteCount: Int64) {
        precondition(byteCount >= 0, "Bytes are passed over forward.")
        guard case .reading = self.phase else { return }
        if self.openingIsChecked, self.skipped.rest == 0, let skipping, let end = self.byteCount,
            byteCount <= end - self.readOffset
        {
            skipping.skip(byteCount)
            self.readOffset += byteCount
        } else {
            self.skipped.rest += byteCount
        }
    }

    /// Lends the next bytes without taking them, when the plugin has them in memory; see ``BlobLendingReader``.
    ///
    /// - Returns: Nil when it has none, and when the next read will throw.
    public func lend() -> BlobLentBytes? {
        guard case .reading = self.phase, let lending, self.skipped.rest == 0, (try? self.context.check()) != nil,
            let lent = lending.lend()
        else { return nil }
        if !self.openingIsChecked, (try? self.checkOpening()) == nil { return nil }
        guard let byteCount else { return lent }
        return self.readOffset < byteCount ? lent.prefix(byteCount - self.readOffset) : nil
    }

    /// Takes bytes from the front of those that were lent last.
    public func consume(_ byteCount: Int) {
        self.readOffset += Int64(byteCount)
        self.limit = nil
        self.lending?.consume(byteCount)
    }

    /// Frees what the reader holds; later reads throw ``BlobError/Code/closed``. Twice is fine.
    public func close() {
        if case .closed = self.phase { return }
        self.phase = .closed
        self.relay?.0.close()
        self.inner.close()
    }

    /// True when all bytes that were declared are read: what is left is to check the end.
    var isAtDeclaredEnd: Bool { self.openingIsChecked && self.readOffset == self.byteCount }

    private func skipAndRead(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.skipped.rest > 0 {
            let offset = self.byteOffset
            var skipped = self.skipped
            defer { self.skipped = skipped }
            let result = try skipped.drop(using: &output, before: offset) { try self.readChecked(into: &$0) }
            if let result { return result }
        }
        return try self.readChecked(into: &output)
    }

    private func readChecked(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let byteCount = self.openingIsChecked ? self.byteCount : self.inner.info.byteCount
        let room = byteCount.map { Int(clamping: $0 - self.readOffset) } ?? .max
        guard room > 0 || !self.openingIsChecked else { return try self.confirmEnd() }
        let before = output.byteCount
        do {
            var result = BlobReadResult.end
            if before == 0, room >= output.freeCapacity {
                result = try self.inner.read(into: &output)
            } else {
                // So that the plugin sees no more room than it has bytes, and nothing of what others read before.
                try output.append(atMost: max(room, 1)) { result = try self.inner.read(into: &$0) }
            }
            try self.check(result, output.byteCount - before)
            self.readOffset += Int64(output.byteCount - before)
            return result
        } catch {
            output.removeLast(output.byteCount - before)
            throw error
        }
    }

    /// Sees that the result of a read and what it appended agree with each other and with what was declared.
    private func check(_ result: BlobReadResult, _ appended: Int) throws {
        guard (result == .bytes) == (appended > 0) else {
            throw BlobError(.misbehavingPlugin, "A read says '\(result)' and appended \(appended) bytes (C1).")
        }
        guard result != .notYet || self.inner.isOpen else { return }
        if !self.openingIsChecked { try self.checkOpening() }
        switch result {
        case .notYet: break
        case .end: try self.noteEnd()
        case .bytes:
            let (offset, overflows) = self.readOffset.addingReportingOverflow(Int64(appended))
            guard !overflows else { throw BlobError.pastLargestOffset }
            if let byteCount, offset > byteCount { throw self.surplus }
        }
    }

    /// All declared bytes were delivered: lets the plugin check what it checks at its end, and sees that no more comes.
    private func confirmEnd() throws -> BlobReadResult {
        try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            let result = try self.inner.read(into: &output)
            guard output.finalize(for: buffer) == 0, result != .bytes else { throw self.surplus }
            if result == .end { try self.noteEnd() }
            return result
        }
    }

    private var surplus: BlobError {
        BlobError(
            .misbehavingPlugin, "More bytes came than the \(self.byteCount ?? self.readOffset) that were declared (C8)."
        )
    }

    private func noteEnd() throws {
        if let byteCount, self.readOffset != byteCount {
            throw BlobError(
                .misbehavingPlugin,
                "The end came after \(self.readOffset) of \(byteCount) declared bytes, without an error (C8).")
        }
        self.phase = .ended
    }

    private func checkOpening() throws {
        let info = self.inner.info
        if let byteCount = info.byteCount, byteCount < 0 {
            throw BlobError(.misbehavingPlugin, "A byte count of \(byteCount) was declared (C8).")
        }
        try info.check(byteOffset: self.readOffset, matching: self.validator)
        self.byteCount = info.byteCount
        self.openingIsChecked = true
    }

    /// Begins a wait, or ends one that took too long or has nobody to end it.
    private func checkWait() throws {
        if self.relay?.0.isMissing == true {
            throw BlobError(.misbehavingPlugin, "The reader says that nothing is there yet, and never tells when (C1).")
        }
        guard self.isWaitLimited else { return }
        let limit = self.limit ?? self.context.stepLimit()
        self.limit = limit
        if let end = limit.end, Moment.now >= end { throw limit.error(idleLimit: self.context.idleLimit) }
    }

    private func fail(_ error: any Error) -> BlobError {
        let error = self.inContext(error, .read)
        self.phase = .failed(error)
        return error
    }

    private func inContext(_ error: any Error, _ operation: BlobError.Operation) -> BlobError {
        let error = BlobError(wrapping: error)
        // A layer that stands for its base in everything is none that an error passes.
        if self.source is ReadAheadSource, !error.layers.isEmpty { return error }
        return error.passing(
            layer: self.source.layerName, operation: operation, locator: self.source.locator?.description,
            byteOffset: self.byteOffset)
    }
}
