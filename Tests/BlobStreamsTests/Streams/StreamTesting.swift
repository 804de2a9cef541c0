import BlobStreams
import BlobTestSupport
public import Foundation
import Testing

/// A delegate that records its events and does what the test says.
final class RecordingDelegate: NSObject, StreamDelegate {
    private(set) var events: [Stream.Event] = []
    private var handlers: [UInt: (Stream) -> Void] = [:]

    func on(_ event: Stream.Event, _ handler: @escaping (Stream) -> Void) { self.handlers[event.rawValue] = handler }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        self.events.append(event)
        self.handlers[event.rawValue]?(stream)
    }
}

extension Stream.Event: @retroactive CustomStringConvertible {
    /// A word for the event.
    public var description: String {
        switch self {
        case .openCompleted: "open"
        case .hasBytesAvailable: "bytes"
        case .hasSpaceAvailable: "space"
        case .errorOccurred: "error"
        case .endEncountered: "end"
        default: "event \(self.rawValue)"
        }
    }
}

extension RunLoop {
    /// Runs this thread's run loop until `isDone`, or it has nothing left to wait for.
    ///
    /// - Returns: False when the run loop ended by itself, as it does when nothing is scheduled any more.
    @discardableResult
    func run(in mode: RunLoop.Mode = .default, until isDone: () -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: 30)
        while !isDone() {
            guard self.run(mode: mode, before: end) else { return false }
            if Date() > end {
                Issue.record("The run loop waited in vain.")
                return true
            }
        }
        return true
    }

    /// Has everything that is signalled already happen.
    ///
    /// - Returns: False when nothing is scheduled.
    @discardableResult
    func drain(in mode: RunLoop.Mode = .default) -> Bool {
        var isScheduled = true
        for _ in 0..<8 { isScheduled = self.run(mode: mode, before: Date()) && isScheduled }
        return isScheduled
    }
}

extension InputStream {
    /// One read into an array of its own.
    func readBytes(_ count: Int) -> (count: Int, bytes: [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: max(count, 1))
        let result = self.read(&buffer, maxLength: count)
        return (result, Array(buffer.prefix(max(result, 0))))
    }

    /// Everything to the end; nil when it does not come to that.
    func readAll(by count: Int = 4096) -> [UInt8]? {
        var all: [UInt8] = []
        while true {
            let (result, bytes) = self.readBytes(count)
            if result < 0 { return nil }
            if result == 0 { return all }
            all += bytes
        }
    }
}

/// Bytes that are all different from their neighbours.
func testBytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) } }

extension MemorySource {
    init(count: Int) { self.init(Data(testBytes(count))) }
}

/// The kinds of source that a stream tells apart.
enum SourceKind: CaseIterable, Sendable {
    case blocking, blockingOfUnknownLength, eventDriven

    func source(_ count: Int) -> any BlobInputStreamDataSource {
        let bytes = Data(testBytes(count))
        switch self {
        case .blocking: return MemorySource(bytes)
        case .blockingOfUnknownLength:
            return ClosureSource { byteOffset, output, _ in
                _ = bytes.dropFirst(Int(byteOffset)).withUnsafeBytes { output.append(contentsOf: $0) }
            }
        case .eventDriven:
            let source = BlobPipe(capacity: max(count, 1))
            _ = try? bytes.withUnsafeBytes { try source.tryWrite($0) }
            source.finish()
            return source.source
        }
    }
}
