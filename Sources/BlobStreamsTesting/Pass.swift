import BlobStreams
import Foundation

/// Reads from a plugin's reader, blocking or event-driven, and notes what it does wrong on the way.
final class Pass {
    enum Step: Equatable {
        case bytes(Data)
        case end
    }

    /// How long an event-driven reader may take to have news: its task may have to wait for many others.
    static let patience = Duration.seconds(240)

    let reader: any BlobReader
    private let findings: Findings
    private let context: BlobContext
    private let memory: UnsafeMutableRawPointer
    private let capacity: Int
    private let patience: Duration

    /// The calls at once after which nothing came, in a row: some are allowed, as to readers that pass over bytes; one
    /// that does not write `whenReadable` is called for ever.
    private static let vainCallLimit = 100_000
    private var vainCallCount = 0

    /// - Parameter context: The terms of waiting for an event-driven reader, as the guard does for those who block.
    init(
        _ reader: any BlobReader, _ findings: Findings, capacity: Int, waiting context: BlobContext = BlobContext(),
        patience: Duration = Pass.patience
    ) {
        self.reader = reader
        self.findings = findings
        self.context = context
        self.memory = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
        self.patience = patience
    }

    deinit {
        self.reader.close()
        self.memory.deallocate()
    }

    /// The next bytes, or the end; waits for the waker of an event-driven reader.
    func step(atMost byteCount: Int = .max) throws -> Step {
        while true {
            if let step = try self.attempt(atMost: byteCount) { return step }
            try self.waitUntilReadable()
        }
    }

    /// The next bytes, or the end; nil when nothing is there yet.
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

    /// One read, whose result must be what it did.
    func read(into room: UnsafeMutableRawBufferPointer) throws -> (BlobReadResult, count: Int) {
        var output = OutputRawSpan(buffer: room, initializedCount: 0)
        let result = try self.reader.read(into: &output)
        let count = output.finalize(for: room)
        if (result == .bytes) != (count > 0) {
            self.findings.add(1, "A read says '\(result)' and appended \(count) bytes.")
            throw BlobError(.misbehavingPlugin, "The reader does not say what it did.")
        }
        return (result, count)
    }

    /// C1: the waker is called when a read is worth trying again; also in vain, but not for ever.
    func waitUntilReadable() throws {
        guard self.vainCallCount < Self.vainCallLimit else {
            self.findings.add(
                1, "The waker was called \(Self.vainCallLimit) \(Findings.hopeless)")
            throw BlobError(.misbehavingPlugin, "The reader says that nothing is there yet, and never tells when.")
        }
        let signal = WaitSignal()
        var waiting = self.context
        waiting.idleLimit = self.patience
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
            self.findings.add(1, "The waker was not called within \(self.patience).")
        }
        try result.get()
    }

    /// Reads on to the end; false when more than `byteCount` bytes come, and the end may never.
    func reachEnd(within byteCount: Int64) throws -> Bool {
        var rest = byteCount
        while case .bytes(let bytes) = try self.step() {
            rest -= Int64(bytes.count)
            guard rest >= 0 else { return false }
        }
        return true
    }

    /// Reads on to the end, or until `byteCount` bytes have come.
    func read(upTo byteCount: Int = .max) throws -> Data {
        var data = Data()
        while data.count < byteCount, case .bytes(let bytes) = try self.step(atMost: byteCount - data.count) {
            data.append(bytes)
        }
        return data
    }
}
