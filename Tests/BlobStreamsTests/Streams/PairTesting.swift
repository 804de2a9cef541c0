import BlobStreams
import Foundation
import Testing

/// A pair for any thread, as its streams allow.
final class Ends: @unchecked Sendable {  // Safe: the streams are; only their classes cannot say so.
    let pair: BoundStreamPair
    var input: BlobInputStream { self.pair.input }
    var output: OutputStream { self.pair.output }

    init(capacity: Int = BlobPipe.defaultCapacity, context: BlobContext = BlobContext(), opened: Bool = true) {
        self.pair = BoundStreamPair(capacity: capacity, context: context)
        guard opened else { return }
        self.input.open()
        self.output.open()
    }

    /// Spins until a write is under way, which then waits if the pair is full.
    func waitForWriter() {
        while self.output.streamStatus != .writing { sched_yield() }
    }
}

extension OutputStream {
    /// One write of an array.
    func writeBytes(_ bytes: [UInt8]) -> Int { self.write(bytes, maxLength: bytes.count) }

    /// Writes all of `bytes`; false when it does not come to that.
    func writeAll(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBufferPointer { buffer in
                buffer.baseAddress.map { self.write($0, maxLength: buffer.count) } ?? -1
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    var errorCode: BlobError.Code? { self.streamError.map { BlobError(wrapping: $0).code } }
}

extension InputStream {
    var errorCode: BlobError.Code? { self.streamError.map { BlobError(wrapping: $0).code } }
}

/// Bytes without end, each read compared with its place: a mistake in one byte, or of one place, does not pass.
enum Pattern {
    /// A prime number, so that nothing else repeats with it.
    private static let period = 1_000_003
    private static let bytes = testBytes(period) + testBytes(period)

    /// Calls `body` with at most `count` bytes from `offset` on.
    static func with<Result>(_ offset: Int, _ count: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let start = offset % self.period
        return self.bytes.withUnsafeBufferPointer {
            body(UnsafeBufferPointer(rebasing: $0[start..<min(start + count, $0.count)]))
        }
    }

    /// True when `count` bytes are those from `offset` on.
    static func matches(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int) -> Bool {
        self.with(offset, count) { wanted in
            wanted.count == count && wanted.baseAddress.map { memcmp($0, bytes, count) == 0 } ?? true
        }
    }
}
