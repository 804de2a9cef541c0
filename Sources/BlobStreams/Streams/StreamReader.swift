import Foundation

/// A reader as streams use it: one that knows for sure when it is at its end.
protocol StreamReader: BlobReader {
    /// True once a read met the end and every check of the end passed.
    var hasEnded: Bool { get }

    /// The bytes that wait in memory, which stay to be read; nil when there are none.
    func lendWindow() -> LentWindow?

    /// Waits until an event-driven reader is open, or throws why it is not.
    func finishOpening() throws
}

extension StreamReader {
    /// A read that is to meet the end, or an error; 0 when it did neither.
    func probe() throws -> Int {
        let count = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { try self.read(into: $0) }
        guard count == 0 else {
            throw BlobError(.misbehavingPlugin, "Bytes came after the state said that there are no more (C2).")
        }
        return 0
    }
}

extension BlobGuardedReader: StreamReader {
    func lendWindow() -> LentWindow? { nil }
}

extension BackgroundReader: StreamReader {
    // Final, and set by a fill that met the checked end.
    var hasEnded: Bool { self.readiness?.value.isAtEnd ?? false }
    func finishOpening() {}
}

/// Bytes that a reader lends, and the memory that they are in.
struct LentWindow: @unchecked Sendable {  // Safe: the bytes are not written to while the owner lives.
    let bytes: UnsafeMutableRawBufferPointer
    let owner: any AnyObject & Sendable
}

/// One opening of a stream's source, and the reader that it gave.
final class StreamPass: @unchecked Sendable {  // Safe: `reader` is for who is busy, the rest is locked.
    let byteOffset: Int64
    let validator: BlobValidator?
    let context: BlobContext
    var reader: (any StreamReader)?
    var readiness: BlobObservable<BlobReaderState>?
    var observation: BlobObservation?
    var registration: BlobRegistration?
    /// Somebody is opening the source, or has.
    var isStarted = false
    var isOpenCompleted = false
    /// Somebody uses the reader.
    var isBusy = false

    init(at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext) {
        self.byteOffset = byteOffset
        self.validator = validator
        self.context = context
    }

    func setReader(_ reader: any StreamReader) {
        self.reader = reader
        self.readiness = reader.readiness
    }
}
