import BlobCore
import BlobPlatform

/// Reads from a reader, blocking or event-driven, and records the contracts that its plugin breaks.
final class Pass {
    enum Step: Equatable {
        case bytes(Data)
        case end
    }

    /// The longest wait for an event-driven reader, whose task may have to wait for many others.
    static let waitLimit = Duration.seconds(240)

    let reader: BlobReader
    private let kit: Kit
    private let context: BlobContext
    private let memory: UnsafeMutableRawPointer
    private let capacity: Int

    /// The maximum number of consecutive immediate calls of the waker without bytes. Some are allowed, because readers
    /// may skip bytes.
    private static let maximumSpuriousCallCount = 100_000
    private var vainCallCount = 0

    /// Creates a pass over the bytes of a reader.
    ///
    /// - Parameter context: The context for waiting on an event-driven reader.
    init(_ reader: BlobReader, _ kit: Kit, capacity: Int, waiting context: BlobContext = BlobContext()) {
        self.reader = reader
        self.kit = kit
        self.context = context
        self.memory = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
    }

    deinit {
        self.reader.close()
        self.memory.deallocate()
    }

    /// Returns the next bytes or the end; waits for the waker of an event-driven reader.
    func step(atMost byteCount: Int = .max) throws -> Step {
        while true {
            if let step = try self.attempt(atMost: byteCount) { return step }
            try self.waitUntilReadable()
        }
    }

    /// Returns the next bytes or the end; nil if no bytes are available yet.
    func attempt(atMost byteCount: Int = .max) throws -> Step? {
        let room = UnsafeMutableRawBufferPointer(start: self.memory, count: min(byteCount, self.capacity))
        let (result, count) = try self.read(into: room)
        switch result {
        case .bytes:
            self.vainCallCount = 0
            return .bytes(Data(bytes: self.memory, count: count))
        case .end: return .end
        case .notYet: return nil
        }
    }

    /// Calls ``attempt(atMost:)``; wrong bytes are a violation, and end the pass.
    func checkedAttempt() throws -> Step? {
        let step = try self.attempt()
        switch step {
        case .bytes(let bytes) where !self.matchesExpectation(bytes):
            let byteOffset = self.reader.byteOffset - Int64(bytes.count)
            self.kit.findings.add(8, "Wrong bytes in the read at byte \(byteOffset), between reads that had to wait.")
            throw BlobError(.corrupted, "The bytes are not the expected ones.")
        case .end where self.reader.byteOffset != self.kit.expected.byteCount:
            self.kit.findings.add(
                8,
                "The end came at byte \(self.reader.byteOffset) of \(self.kit.expected.byteCount) after a wait."
            )
        case .bytes, .end, nil: break
        }
        return step
    }

    /// Returns true if the bytes that were read last are the expected bytes.
    func matchesExpectation(_ bytes: Data) -> Bool {
        self.kit.expected.agrees(with: bytes, at: self.reader.byteOffset - Int64(bytes.count))
    }

    /// Reads once.
    func read(into room: UnsafeMutableRawBufferPointer) throws -> (BlobReadResult, count: Int) {
        var output = OutputRawSpan(buffer: room, initializedCount: 0)
        let result = try self.reader.read(into: &output)
        return (result, output.finalize(for: room))
    }

    /// C1: waits for the waker, which is called when a read is worth trying again; spurious calls are allowed, but not
    /// endlessly.
    func waitUntilReadable() throws {
        guard self.vainCallCount < Self.maximumSpuriousCallCount else {
            self.kit.findings.add(
                1, "The waker was called \(Self.maximumSpuriousCallCount) \(ViolationLog.endlessCalls)")
            throw BlobError(.misbehavingPlugin, "The reader keeps calling the waker, but has no bytes.")
        }
        let signal = WaitSignal()
        var waiting = self.context
        waiting.idleLimit = self.kit.waitLimit
        let isWoken = Locked(false)
        self.reader.whenReadable(
            BlobWaker {
                isWoken.withLock { $0 = true }
                signal.signal()
            })
        self.vainCallCount = isWoken.withLock { $0 } ? self.vainCallCount + 1 : 0
        let result = Result { () throws(BlobError) in
            try waiting.wait(on: signal) { isWoken.withLock { $0 } ? () : nil }
        }
        if case .failure(let error) = result, error.code == .timedOut, self.context.deadline == nil {
            self.kit.findings.add(1, "The waker was not called within \(self.kit.waitLimit).")
        }
        try result.get()
    }

    /// Reads to the end, or until `byteCount` bytes have been read.
    func read(upTo byteCount: Int = .max) throws -> Data {
        var data = Data()
        while data.count < byteCount, case .bytes(let bytes) = try self.step(atMost: byteCount - data.count) {
            data.append(bytes)
        }
        return data
    }
}

/// A waker that records its calls.
final class RecordingWaker: Sendable {
    private let calls = Locked(0)
    private let signal = WaitSignal()

    /// A closure that is called after each call of the waker has been counted.
    private let onCall: @Sendable () -> Void

    init(onCall: @escaping @Sendable () -> Void = {}) { self.onCall = onCall }

    var waker: BlobWaker {
        BlobWaker {
            self.calls.withLock { $0 += 1 }
            self.signal.signal()
            self.onCall()
        }
    }

    private var wasCalled: Bool { self.calls.withLock { $0 > 0 } }

    /// Waits for the waker to be called; returns false if it is not called within `duration`.
    func wait(for duration: Duration) -> Bool { self.wasCalled || self.signal.wait(for: duration) }
}
