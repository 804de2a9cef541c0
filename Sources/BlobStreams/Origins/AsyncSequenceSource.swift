import Foundation

/// The bytes of an `AsyncSequence`, event-driven: no thread waits for its next element.
///
/// A task iterates over the sequence while a reader is open, at most one pipe's capacity ahead of it, and is cancelled
/// when the reader closes.
public struct AsyncSequenceSource: BlobInputStreamDataSource {
    private typealias Pump = @Sendable (PipeBuffer) async throws -> Void

    private let info: BlobInfo
    private let isRepeatable: Bool
    private let pump: Pump
    private let oneShot: OneShotSource

    /// Creates a source of a sequence of chunks of bytes: `Data`, `[UInt8]`, `ArraySlice<UInt8>` ...
    ///
    /// - Parameters:
    ///   - info: What the source says of itself; a byte count is a promise.
    ///   - isRepeatable: True when each sequence that `makeSequence` gives has the same bytes from the start.
    ///   - makeSequence: Called for each opening.
    public init<Chunks: AsyncSequence & SendableMetatype>(
        info: BlobInfo = BlobInfo(), isRepeatable: Bool = false,
        chunks makeSequence: @escaping @Sendable () -> Chunks
    ) where Chunks.Element: ContiguousBytes & Sendable, Chunks.AsyncIterator: SendableMetatype {
        self.init(info: info, isRepeatable: isRepeatable) { buffer in
            for try await chunk in makeSequence() {
                try await buffer.write(chunk.withUnsafeBytes { Data($0) })
            }
        }
    }

    /// Creates a source of a sequence of single bytes; parameters as with chunks.
    public init<Bytes: AsyncSequence & SendableMetatype>(
        info: BlobInfo = BlobInfo(), isRepeatable: Bool = false,
        bytes makeSequence: @escaping @Sendable () -> Bytes
    ) where Bytes.Element == UInt8, Bytes.AsyncIterator: SendableMetatype {
        self.init(info: info, isRepeatable: isRepeatable) { buffer in
            for try await byte in makeSequence() {
                let written = try withUnsafeBytes(of: byte) { try buffer.tryWrite($0) }
                if written == 0 { try await buffer.write(Data([byte])) }
            }
        }
    }

    private init(info: BlobInfo, isRepeatable: Bool, pump: @escaping Pump) {
        self.info = info
        self.isRepeatable = isRepeatable
        self.pump = pump
        self.oneShot = OneShotSource(layerName: "AsyncSequenceSource", info: info, neverBlocks: true) { _ in
            Self.startReader(info, pump)
        }
    }

    /// Repeatable if it was said to be, with readers side by side, as each has a sequence of its own.
    public var capabilities: BlobCapabilities {
        self.isRepeatable ? [.repeatable, .concurrentReaders] : []
    }

    /// True: no thread waits for the next element.
    public var neverBlocks: Bool { true }

    /// What it was created with.
    public func info(_ context: BlobContext) -> BlobInfo { self.info }

    /// Starts to iterate over a sequence.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        guard self.isRepeatable else {
            return try self.oneShot.openReader(at: byteOffset, matching: validator, context: context)
        }
        try self.info.check(byteOffset: byteOffset, matching: validator)
        let reader = Self.startReader(self.info, self.pump)
        return byteOffset == 0 ? reader : SkippingReader(reader, bytesToSkip: byteOffset)
    }

    private static func startReader(_ info: BlobInfo, _ pump: @escaping Pump) -> any BlobReader {
        let buffer = PipeBuffer(capacity: BlobPipe.defaultCapacity)
        let task = Task.detached {
            do {
                try await pump(buffer)
                buffer.finish(nil)
            } catch {
                buffer.finish(BlobError(wrapping: error))
            }
        }
        return PipeReader(buffer, info: info) { task.cancel() }
    }
}
