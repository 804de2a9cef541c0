package import BlobPlatform

/// The bounded ring between producers and one reader. Its memory exists only while it holds bytes.
package final class PipeBuffer: Sendable {
    private struct State {
        var ring = Ring()
        /// The number of bytes that were taken, and are not delivered yet.
        var takenByteCount = 0
        /// The handlers of the producers that wait for room.
        var handlers: [ObjectIdentifier: @Sendable () -> Void] = [:]
        var onRoom: (@Sendable () -> Void)?
        var isFinished = false
        var isReaderGone = false
        var failure: BlobError?

        var refusal: BlobError? {
            if self.isReaderGone {
                return BlobError(.closed, "The reader of the pipe is closed.", operation: "write")
            }
            return self.isFinished ? BlobError(.closed, "The pipe is finished.", operation: "write") : nil
        }

        mutating func takeHandlers() -> [@Sendable () -> Void] {
            defer { self.handlers = [:] }
            return Array(self.handlers.values) + (self.onRoom.map { [$0] } ?? [])
        }
    }

    /// The size of the memory that exists now, in bytes.
    var heldByteCount: Int {
        self.state.withLock { $0.ring.isEmpty && $0.takenByteCount > 0 ? self.capacity : $0.ring.heldByteCount }
    }
    private let capacity: Int
    private let state = Locked(State())
    /// Fires when there are bytes, and at the end.
    let readiness = BlobWakerSlot()

    package init(capacity: Int) {
        precondition(capacity > 0, "A pipe needs room for at least one byte.")
        self.capacity = capacity
    }

    // MARK: The producer's side

    /// Writes as many bytes as there is room for.
    ///
    /// - Returns: The number of bytes written; 0 when the pipe is full.
    /// - Throws: ``BlobError/Code/closed`` when the reader is closed, or after ``finish(_:)``.
    package func tryWrite(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> Int {
        let count = try self.state.withLock { state throws(BlobError) -> Int in
            if let refusal = state.refusal { throw refusal }
            let room = self.capacity - state.ring.count - state.takenByteCount
            return state.ring.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(room)), capacity: self.capacity)
        }
        if count > 0 { self.readiness.fire() }
        return count
    }

    /// Writes all bytes, blocking while the pipe is full.
    package func write(_ bytes: UnsafeRawBufferPointer, _ context: BlobContext) throws(BlobError) {
        var rest = bytes
        while !rest.isEmpty {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(try self.writeSome(rest, context)))
        }
    }

    /// Writes as many bytes as there is room for, blocking while there is none.
    ///
    /// - Returns: The number of bytes written; 0 only when `bytes` is empty.
    package func writeSome(_ bytes: UnsafeRawBufferPointer, _ context: BlobContext) throws(BlobError) -> Int {
        guard !bytes.isEmpty else { return 0 }
        try context.check()
        let count = try self.tryWrite(bytes)
        if count > 0 { return count }
        let signal = WaitSignal()
        defer { self.forget(signal) }
        return try context.wait(on: signal) { () throws(BlobError) -> Int? in
            while true {
                let count = try self.tryWrite(bytes)
                if count > 0 { return count }
                if self.callWhenWritable(signal, { signal.signal() }) { return nil }
            }
        }
    }

    /// Writes all bytes, suspending while the pipe is full.
    package func write(_ bytes: Data) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            let count = try rest.withUnsafeBytes { try self.tryWrite($0) }
            rest = rest.dropFirst(count)
            if count == 0 { await self.suspendUntilWritable() }
        }
    }

    private func suspendUntilWritable() async {
        let gate = Gate()
        defer { self.forget(gate) }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                gate.enter(continuation)
                if !self.callWhenWritable(gate, { gate.open() }) { gate.open() }
            }
        } onCancel: {
            gate.open()
        }
    }

    /// The room for a write.
    package enum Room {
        case some, none
        /// The reader is closed: no write succeeds any more.
        case readerIsGone
    }

    package var room: Room {
        self.state.withLock { state in
            state.isReaderGone ? .readerIsGone : self.isFull(state) ? .none : .some
        }
    }

    /// Calls `handler` each time that a full pipe gets room, and when the reader closes, until ``finish(_:)``.
    package func onRoom(_ handler: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.onRoom = handler }
    }

    /// Ends the bytes, with an error if that is not the clean end. Only the first call has an effect.
    package func finish(_ error: BlobError?) {
        let handlers: [@Sendable () -> Void]? = self.state.withLock { state in
            guard !state.isFinished else { return nil }
            state.isFinished = true
            state.failure = error
            state.onRoom = nil
            return state.takeHandlers()
        }
        guard let handlers else { return }
        for handler in handlers { handler() }
        self.readiness.fire()
    }

    // MARK: The reader's side

    package func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        var handlers: [@Sendable () -> Void] = []
        let result: Result<BlobReadResult, BlobError> = output.withUnsafeMutableBytes { buffer, initializedCount in
            self.state.withLock { state in
                let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
                let wasFull = self.isFull(state)
                let count = state.ring.remove(into: free)
                initializedCount += count
                if count > 0, wasFull { handlers = state.takeHandlers() }
                if count > 0 { return .success(.bytes) }
                guard state.isFinished else { return .success(.notYet) }
                return state.failure.map { .failure($0) } ?? .success(.end)
            }
        }
        for handler in handlers { handler() }
        return try result.get()
    }

    /// Takes the contiguous bytes at the front, which make room once they are delivered; nil when there are none.
    func take(atMost byteCount: Int) -> BlobBytes? {
        self.state.withLock { state in
            let taken = state.ring.take(atMost: byteCount) { [weak self] in self?.delivered($0) }
            state.takenByteCount += taken?.count ?? 0
            return taken
        }
    }

    private func delivered(_ byteCount: Int) {
        let handlers = self.state.withLock { state in
            let wasFull = self.isFull(state)
            state.takenByteCount = max(state.takenByteCount - byteCount, 0)
            return wasFull && byteCount > 0 ? state.takeHandlers() : []
        }
        for handler in handlers { handler() }
    }

    private func isFull(_ state: State) -> Bool { state.ring.count + state.takenByteCount >= self.capacity }

    /// Drops the bytes in the pipe; the producer's next write throws ``BlobError/Code/closed``.
    package func closeReader() {
        let handlers = self.state.withLock { state in
            state.isReaderGone = true
            state.ring.removeAll()
            state.takenByteCount = 0
            return state.takeHandlers()
        }
        for handler in handlers { handler() }
    }

    /// Registers `handler` of `waiter` for one call when a write is worth trying; false when it is already.
    private func callWhenWritable(_ waiter: AnyObject, _ handler: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLock { state in
            guard state.refusal == nil, self.isFull(state) else { return false }
            state.handlers[ObjectIdentifier(waiter)] = handler
            return true
        }
    }

    /// Drops the handler of a waiter that continued or gave up. The waiter still exists, so its identity is unique.
    private func forget(_ waiter: AnyObject) {
        self.state.withLock { $0.handlers[ObjectIdentifier(waiter)] = nil }
    }
}
