import Foundation

/// Counts the bytes that pass, for progress.
public struct CountingSource: ForwardingSource {
    /// Told after each read: how many bytes it brought, the offset after it, and the byte count if known.
    public typealias OnBytes = @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void

    package let base: any BlobInputStreamDataSource
    private let onBytes: OnBytes

    /// Creates a layer over `base`. `onBytes` is called on the reading thread, and each reader counts for itself; the
    /// bytes also go to the event sink of the context.
    public init(_ base: any BlobInputStreamDataSource, onBytes: @escaping OnBytes) {
        self.base = base
        self.onBytes = onBytes
    }

    /// Opens a reader of the base and counts what it reads.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        return CountingReader(reader) { count in
            self.onBytes(count, reader.byteOffset, reader.info.byteCount)
            context.eventSink?(.bytes(count))
        }
    }
}

extension BlobInputStreamDataSource {
    /// A layer over this source that keeps `progress` up to date, in bytes.
    ///
    /// Cancelling the progress cancels all readers of the layer. A cancellation handler that the progress has already
    /// is called too.
    public func reporting(to progress: Progress) -> some BlobInputStreamDataSource {
        ProgressSource(self, progress)
    }
}

private struct ProgressSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    private let progress: Progress
    private let cancellation = BlobCancellation()

    init(_ base: any BlobInputStreamDataSource, _ progress: Progress) {
        self.base = base
        self.progress = progress
        let (cancellation, earlier) = (self.cancellation, progress.cancellationHandler)
        progress.cancellationHandler = {
            earlier?()
            cancellation.cancel()
        }
        if progress.isCancelled { cancellation.cancel() }
    }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        // The guard of the base wakes whoever waits when this context is cancelled.
        let context = context.makeChild()
        let progress = self.progress
        let registration = self.cancellation.onCancel { context.cancellation.cancel() }
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        progress.totalUnitCount = reader.info.byteCount ?? -1
        progress.completedUnitCount = byteOffset
        return CountingReader(reader, registration) { _ in progress.completedUnitCount = reader.byteOffset }
    }
}

private final class CountingReader: ForwardingReader {
    let base: any BlobReader
    private let registration: BlobRegistration?
    private let onBytes: (Int) -> Void

    /// - Parameter registration: Kept until the reader is closed.
    init(_ base: any BlobReader, _ registration: BlobRegistration? = nil, onBytes: @escaping (Int) -> Void) {
        self.base = base
        self.registration = registration
        self.onBytes = onBytes
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        var result = BlobReadResult.end
        let count = try output.append(atMost: .max) { result = try self.base.read(into: &$0) }
        if count > 0 { self.onBytes(count) }
        return result
    }

    func close() {
        self.registration?.remove()
        self.base.close()
    }
}
