public import BlobPlatform

/// A bounded pipe: a producer writes bytes, and a consumer reads them from ``source``, each at its own pace.
///
/// The producer holds the pipe; several producers may write to it, and as long as a write fits, it is not interleaved
/// with others. A full pipe makes producers wait, by blocking or by suspending the task, until bytes are read, even if
/// ``source`` has not been opened yet: a consumer that gives up before then must notify its producer. A producer that
/// releases the pipe without ``finish(throwing:)`` has failed: the reader throws ``BlobError/Code/truncated`` and never
/// reaches a clean end.
///
/// ```swift
/// let pipe = BlobPipe()
/// Task {
///     for number in 1...1000 { try await pipe.write(Data("\(number)\n".utf8)) }
///     pipe.finish()
/// }
/// for try await line in pipe.source.lines() { print(line) }
/// ```
public final class BlobPipe: Sendable {
    /// The default capacity in bytes: 64 KiB, like a system pipe on Linux (`pipe(7)`).
    @usableFromInline package static let defaultCapacity = 64 * 1024

    /// The source of the bytes that the producer writes. It can be read once, from the start; opening it at an offset
    /// discards the bytes before the offset.
    public let source: any BlobInputStreamDataSource
    private let buffer: PipeBuffer

    /// Creates a pipe.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of bytes in the pipe, at least 1; by default 64 KiB. The memory exists only
    ///     while the pipe holds bytes.
    ///   - info: The info of the source. A declared byte count is binding: the reader throws if the bytes do not match
    ///     it.
    public init(capacity: Int = BlobPipe.defaultCapacity, info: BlobInfo = BlobInfo()) {
        let buffer = PipeBuffer(capacity: capacity)
        self.buffer = buffer
        self.source = SequentialSource(layer: "BlobPipe", info: info, traits: .neverBlocks) { _ in
            .stream(PipeStream(buffer, info: info), startingAt: 0)
        }
    }

    deinit {
        self.buffer.finish(BlobError(.truncated, "The producer of the pipe was released before it finished."))
    }

    /// Writes all of `bytes`, blocking while the pipe is full.
    ///
    /// - Throws: ``BlobError/Code/closed`` if the reader was closed or the pipe finished, ``BlobError/Code/cancelled``
    ///   and ``BlobError/Code/timedOut`` as `context` determines. Some bytes may have been written.
    public func write(_ bytes: UnsafeRawBufferPointer, context: BlobContext = BlobContext()) throws(BlobError) {
        try self.buffer.write(bytes, context)
    }

    /// Writes all of `data`, blocking while the pipe is full; see ``write(_:context:)-(UnsafeRawBufferPointer,_)``.
    public func write(_ data: Data, context: BlobContext = BlobContext()) throws(BlobError) {
        try BlobError.wrapping { try data.withUnsafeBytes { try self.buffer.write($0, context) } }
    }

    /// Writes all of `data`, suspending while the pipe is full.
    ///
    /// - Throws: ``BlobError/Code/closed`` as in the blocking form, or ``BlobError/Code/cancelled`` if the task is
    ///   cancelled.
    public func write(_ data: Data) async throws {
        do {
            try await self.buffer.write(data)
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Writes as many bytes as fit now, without waiting.
    ///
    /// - Returns: The number of bytes written, from the front; 0 if the pipe is full.
    /// - Throws: ``BlobError/Code/closed`` if the reader was closed or the pipe finished.
    public func tryWrite(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> Int {
        try self.buffer.tryWrite(bytes)
    }

    /// Ends the bytes. Only the first call has an effect.
    ///
    /// - Parameter error: The error that stopped the producer, which the reader throws after the bytes written so far.
    ///   Nil for a clean end.
    public func finish(throwing error: (any Error)? = nil) {
        self.buffer.finish(error.map { BlobError(wrapping: $0) })
    }
}

/// The bounded ring between producers and one reader. Its memory exists only while it holds bytes.
package final class PipeBuffer: Sendable {
    private struct State {
        var ring = Ring()
        /// The number of bytes that were taken but not delivered yet.
        var lentByteCount = 0
        /// The handlers of the producers that wait for free space.
        var handlers: [ObjectIdentifier: @Sendable () -> Void] = [:]
        var onRoom: (@Sendable () -> Void)?
        var isFinished = false
        var isReaderGone = false
        var failure: BlobError?

        var refusal: BlobError? {
            if self.isReaderGone {
                return BlobError(.closed, "The reader of the pipe is closed.", operation: "write")
            }
            return self.isFinished ? BlobError(.closed, "The pipe is already finished.", operation: "write") : nil
        }

        mutating func takeHandlers() -> [@Sendable () -> Void] {
            defer { self.handlers = [:] }
            return Array(self.handlers.values) + (self.onRoom.map { [$0] } ?? [])
        }
    }

    /// The size of the memory that exists now, in bytes.
    var heldByteCount: Int {
        self.state.withLock { $0.ring.isEmpty && $0.lentByteCount > 0 ? self.capacity : $0.ring.heldByteCount }
    }
    private let capacity: Int
    private let state = Locked(State())
    /// The slot that fires when bytes are available, and at the end.
    let readiness = BlobWakerSlot()

    package init(capacity: Int) {
        precondition(capacity > 0, "A pipe must have room for at least one byte.")
        self.capacity = capacity
    }

    // MARK: The producer's side

    /// Writes as many bytes as fit.
    ///
    /// - Returns: The number of bytes written; 0 if the pipe is full.
    /// - Throws: ``BlobError/Code/closed`` if the reader is closed, or after ``finish(_:)``.
    package func tryWrite(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> Int {
        let count = try self.state.withLock { state throws(BlobError) -> Int in
            if let refusal = state.refusal { throw refusal }
            let room = self.capacity - state.ring.count - state.lentByteCount
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

    /// Writes as many bytes as fit, blocking while the pipe is full.
    ///
    /// - Returns: The number of bytes written; 0 only if `bytes` is empty.
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

    /// The state of the pipe for a write: whether it has free space.
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

    /// Calls `handler` each time space becomes available in a full pipe, and when the reader closes, until
    /// ``finish(_:)``.
    package func onRoom(_ handler: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.onRoom = handler }
    }

    /// Ends the bytes, cleanly or with an error. Only the first call has an effect.
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
        let (result, handlers) = try self.state.withLock { state -> (BlobReadResult, [@Sendable () -> Void]) in
            let wasFull = self.isFull(state)
            let count = output.append { state.ring.remove(into: $0) }
            if count > 0 { return (.bytes, wasFull ? state.takeHandlers() : []) }
            if state.isFinished, let failure = state.failure { throw failure }
            return (state.isFinished ? .end : .notYet, [])
        }
        for handler in handlers { handler() }
        return result
    }

    /// Removes and returns the contiguous bytes at the front, whose space becomes free once they are delivered; returns
    /// nil if the pipe is empty.
    func readBytes(atMost byteCount: Int) -> BlobBytes? {
        self.state.withLock { state in
            let taken = state.ring.readBytes(atMost: byteCount) { [weak self] in self?.didDeliver($0) }
            state.lentByteCount += taken?.count ?? 0
            return taken
        }
    }

    private func didDeliver(_ byteCount: Int) {
        let handlers = self.state.withLock { state in
            let wasFull = self.isFull(state)
            state.lentByteCount = max(state.lentByteCount - byteCount, 0)
            return wasFull && byteCount > 0 ? state.takeHandlers() : []
        }
        for handler in handlers { handler() }
    }

    private func isFull(_ state: State) -> Bool { state.ring.count + state.lentByteCount >= self.capacity }

    /// Discards the bytes in the pipe; the producer's next write throws ``BlobError/Code/closed``.
    package func closeReader() {
        let handlers = self.state.withLock { state in
            state.isReaderGone = true
            state.ring.removeAll()
            state.lentByteCount = 0
            return state.takeHandlers()
        }
        for handler in handlers { handler() }
    }

    /// Registers `handler` to be called once, when a write by `waiter` is worth trying; returns false if it already is.
    private func callWhenWritable(_ waiter: AnyObject, _ handler: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLock { state in
            guard state.refusal == nil, self.isFull(state) else { return false }
            state.handlers[ObjectIdentifier(waiter)] = handler
            return true
        }
    }

    /// Removes the handler of a waiter that has continued or given up. The waiter still exists, so its identity is
    /// unique.
    private func forget(_ waiter: AnyObject) {
        self.state.withLock { $0.handlers[ObjectIdentifier(waiter)] = nil }
    }
}

/// The reading end of a ``PipeBuffer``.
package final class PipeStream: BlobByteStream {
    package let info: BlobInfo?
    private let buffer: PipeBuffer
    private let onClose: (@Sendable () -> Void)?

    package init(_ buffer: PipeBuffer, info: BlobInfo, onClose: (@Sendable () -> Void)? = nil) {
        self.buffer = buffer
        self.info = info
        self.onClose = onClose
    }

    package var neverBlocks: Bool { true }
    package var readiness: BlobWakerSlot? { self.buffer.readiness }

    package func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.buffer.read(into: &output)
    }

    package func readBytes(at byteOffset: Int64, atMost byteCount: Int) -> BlobBytes? {
        self.buffer.readBytes(atMost: byteCount)
    }

    package func close() {
        self.buffer.closeReader()
        self.onClose?()
    }
}

/// A ring buffer of bytes, which are added at the back and removed at the front.
///
/// The memory is allocated with the first byte and freed with the last one, so that an idle ring costs nothing.
private struct Ring {
    /// The memory, which lent bytes also retain.
    private final class Memory: @unchecked Sendable {  // Safe: the ring does not write to lent bytes.
        let bytes: UnsafeMutableRawBufferPointer

        init(_ byteCount: Int) { self.bytes = .allocate(byteCount: byteCount, alignment: 16) }

        deinit { self.bytes.deallocate() }
    }

    private var memory: Memory?
    private var start = 0
    private(set) var count = 0
    /// The number of bytes of the memory that were ever written, from its start.
    private var usedByteCount = 0

    var isEmpty: Bool { self.count == 0 }
    var heldByteCount: Int { self.memory?.bytes.count ?? 0 }

    /// Adds as many bytes as fit within `capacity`, which must be the same in every call; returns their number.
    mutating func append(_ bytes: UnsafeRawBufferPointer, capacity: Int) -> Int {
        let total = min(bytes.count, capacity - self.count)
        guard total > 0 else { return 0 }
        var end = (self.start + self.count) % capacity
        // Removed bytes may still be lent; without a loan, no other owner holds the memory.
        let isUnused = end >= self.usedByteCount && total <= capacity - end
        if self.memory != nil, !isUnused, !isKnownUniquelyReferenced(&self.memory) {
            self.moveToNewMemory(capacity)
            end = self.count
        }
        let memory = self.memory ?? Memory(capacity)
        self.memory = memory
        let first = min(total, capacity - end)
        UnsafeMutableRawBufferPointer(rebasing: memory.bytes[end...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<first]))
        memory.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[first..<total]))
        self.usedByteCount = first < total ? capacity : max(self.usedByteCount, end + total)
        self.count += total
        return total
    }

    /// Allocates new memory. The old memory is freed when its lent bytes are released.
    private mutating func moveToNewMemory(_ capacity: Int) {
        let memory = Memory(capacity)
        let count = self.remove(into: UnsafeMutableRawBufferPointer(rebasing: memory.bytes[..<self.count]))
        (self.memory, self.start, self.count, self.usedByteCount) = (memory, 0, count, count)
    }

    /// Moves as many bytes as fit to `buffer`; returns their number.
    mutating func remove(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let memory = self.memory?.bytes else { return 0 }
        let total = min(buffer.count, self.count)
        let first = min(total, memory.count - self.start)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[self.start..<(self.start + first)]))
        UnsafeMutableRawBufferPointer(rebasing: buffer[first...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<(total - first)]))
        self.drop(total)
        return total
    }

    /// Removes bytes from the front.
    mutating func drop(_ byteCount: Int) {
        guard let memory else { return }
        self.start = (self.start + byteCount) % memory.bytes.count
        self.count -= byteCount
        if self.count == 0 { self.removeAll() }
    }

    /// Removes and returns the contiguous bytes at the front, without a copy; returns nil if the ring is empty.
    mutating func readBytes(atMost byteCount: Int, onDelivery: @escaping @Sendable (Int) -> Void) -> BlobBytes? {
        guard let memory, self.count > 0 else { return nil }
        let end = min(memory.bytes.count, self.start + min(byteCount, self.count))
        let bytes = UnsafeRawBufferPointer(rebasing: memory.bytes[self.start..<end])
        self.drop(bytes.count)
        return BlobBytes(bytes, ownedBy: memory, isExclusive: true, onDelivery: onDelivery)
    }

    /// Removes all bytes.
    mutating func removeAll() { (self.memory, self.start, self.count, self.usedByteCount) = (nil, 0, 0, 0) }
}
