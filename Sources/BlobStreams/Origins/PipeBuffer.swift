import Foundation

/// The bounded ring between one producer and one reader.
///
/// Everything in it changes together with the state that the reader publishes, under the lock of that observable. Its
/// memory exists only while bytes wait in it.
package final class PipeBuffer: @unchecked Sendable {  // Safe: `ring` and `space` are touched only in `state.update`.
    package let state = BlobObservable(BlobReaderState(isOpenCompleted: true))
    private let capacity: Int
    private var ring = Ring()
    private var space = SpaceWaiters()

    package init(capacity: Int) {
        precondition(capacity > 0, "A pipe needs room for at least one byte.")
        self.capacity = capacity
    }

    deinit { self.ring.free() }

    // MARK: The producer's side

    /// Takes as many bytes as there is room for.
    ///
    /// - Returns: How many bytes were taken; 0 when the pipe is full.
    /// - Throws: ``BlobError/Code/closed`` when the reader is gone, or after ``finish(_:)``.
    package func tryWrite(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> Int {
        let outcome: Result<Int, BlobError> = self.state.update { state in
            if let refusal = self.refusal(state) { return .failure(refusal) }
            let count = self.ring.append(bytes, capacity: self.capacity)
            if count > 0 { state.hasBytesAvailable = true }
            return .success(count)
        }
        return try outcome.get()
    }

    /// Takes all bytes, blocking while the pipe is full.
    package func write(_ bytes: UnsafeRawBufferPointer, _ context: BlobContext) throws(BlobError) {
        var rest = bytes
        while !rest.isEmpty {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(try self.writeSome(rest, context)))
        }
    }

    /// Takes as many bytes as there is room for, blocking while there is none.
    ///
    /// - Returns: How many bytes were taken; 0 only when there were none to take.
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

    /// Takes all bytes, suspending while the pipe is full.
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

    /// What a write would come to now.
    package enum Room {
        case some, none
        /// No write will be taken any more.
        case readerIsGone
    }

    package var room: Room {
        self.state.update { _ in
            self.space.isReaderGone ? .readerIsGone : self.ring.count == self.capacity ? .none : .some
        }
    }

    /// Calls `handler` each time when a full pipe gets room, and when the reader goes; until ``finish(_:)``.
    package func onRoom(_ handler: @escaping @Sendable () -> Void) {
        self.state.update { _ in self.space.onRoom = handler }
    }

    /// Says that no more bytes will come, with the reason if that is not the end. Only the first call counts.
    package func finish(_ error: BlobError?) {
        let waiting = self.state.update { state in
            guard !self.space.isFinished else { return [@Sendable () -> Void]() }
            self.space.isFinished = true
            self.space.failure = error
            self.space.onRoom = nil
            self.publishEnd(&state)
            return self.space.removeAll()
        }
        for handler in waiting { handler() }
    }

    // MARK: The reader's side

    package func read(into output: inout OutputRawSpan) throws {
        var waiting: [@Sendable () -> Void] = []
        let failure: BlobError? = output.withUnsafeMutableBytes { buffer, initializedCount in
            self.state.update { state in
                let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
                let wasFull = self.ring.count == self.capacity
                let count = self.ring.remove(into: free)
                initializedCount += count
                if count > 0, wasFull { waiting = self.space.removeAll() }
                state.hasBytesAvailable = !self.ring.isEmpty
                if count > 0 { self.publishEnd(&state) }
                return count == 0 ? state.error : nil
            }
        }
        for handler in waiting { handler() }
        if let failure { throw failure }
    }

    /// Drops what waits; the producer's next write throws ``BlobError/Code/closed``.
    package func closeReader() {
        let waiting = self.state.update { state in
            self.space.isReaderGone = true
            self.ring.free()
            state.hasBytesAvailable = false
            return self.space.removeAll()
        }
        for handler in waiting { handler() }
    }

    // MARK: Under the lock of `state`

    /// Once the last byte is read, the end or the producer's error shows.
    private func publishEnd(_ state: inout BlobReaderState) {
        guard self.space.isFinished, self.ring.isEmpty, !state.isAtEnd, state.error == nil else { return }
        state.isAtEnd = self.space.failure == nil
        state.error = self.space.failure
    }

    private func refusal(_ state: BlobReaderState) -> BlobError? {
        if self.space.isReaderGone {
            return BlobError(.closed, "The reader of the pipe is closed.", operation: .write)
        }
        return self.space.isFinished ? BlobError(.closed, "The pipe is finished.", operation: .write) : nil
    }

    /// Registers `handler` of `waiter` for one call when a write may do something; false when it may right now.
    private func callWhenWritable(_ waiter: AnyObject, _ handler: @escaping @Sendable () -> Void) -> Bool {
        self.state.update { state in
            guard self.refusal(state) == nil, self.ring.count == self.capacity else { return false }
            self.space.handlers[ObjectIdentifier(waiter)] = handler
            return true
        }
    }

    /// Drops the handler of a waiter that went on, or gave up. The waiter is still there, so its identity is its own.
    private func forget(_ waiter: AnyObject) {
        self.state.update { _ in self.space.handlers[ObjectIdentifier(waiter)] = nil }
    }
}

private struct SpaceWaiters {
    var handlers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    var onRoom: (@Sendable () -> Void)?
    var isFinished = false
    var isReaderGone = false
    var failure: BlobError?

    mutating func removeAll() -> [@Sendable () -> Void] {
        defer { self.handlers = [:] }
        return Array(self.handlers.values) + (self.onRoom.map { [$0] } ?? [])
    }
}

/// Lets one suspended task go on, whoever opens it first.
private final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    func enter(_ continuation: CheckedContinuation<Void, Never>) {
        let isOpen = self.state.withLock { state in
            if !state.isOpen { state.continuation = continuation }
            return state.isOpen
        }
        if isOpen { continuation.resume() }
    }

    func open() {
        let continuation = self.state.withLock { state in
            state.isOpen = true
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume()
    }
}
