import BlobStreams
import Foundation

/// Reads from a plugin's reader, blocking or event-driven, and notes what it does wrong on the way.
final class Pass {
    enum Step: Equatable {
        case bytes(Data)
        case end
    }

    /// How long an event-driven reader may take to have news: its task may have to wait for many others.
    private static let patience = Duration.seconds(240)

    let reader: any BlobReader
    private let findings: Findings
    private let context: BlobContext
    private let memory: UnsafeMutableRawPointer
    private let capacity: Int

    /// - Parameter context: The terms of waiting for an event-driven reader, as the guard does for those who block.
    init(_ reader: any BlobReader, _ findings: Findings, capacity: Int, waiting context: BlobContext = BlobContext()) {
        self.reader = reader
        self.findings = findings
        self.context = context
        self.memory = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
    }

    deinit {
        self.reader.close()
        self.memory.deallocate()
    }

    /// The next bytes, or the end; waits for the readiness of an event-driven reader.
    func step(atMost byteCount: Int = .max) throws -> Step {
        let room = UnsafeMutableRawBufferPointer(start: self.memory, count: min(byteCount, self.capacity))
        while true {
            let version = self.reader.readiness?.versioned.version
            let count = try self.reader.read(into: room)
            if count > 0 { return .bytes(Data(bytes: self.memory, count: count)) }
            guard let readiness = self.reader.readiness else { return .end }
            let now = readiness.versioned
            if let error = now.state.error { throw error }
            if now.state.isAtEnd { return .end }
            if now.state.hasBytesAvailable, now.version == version {
                self.findings.add(1, "hasBytesAvailable is true and stays so, and a read appends nothing.")
                throw BlobError(.misbehavingPlugin, "The reader says that it has bytes and gives none.")
            }
            var waiting = self.context
            waiting.idleLimit = Self.patience
            try readiness.wait(waiting) { $0.isReady ? () : nil }
        }
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
