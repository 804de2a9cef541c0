import BlobCore
public import Foundation

extension BlobInputStreamDataSource {
    /// Returns a layer over this source that keeps `progress` up to date, in bytes.
    ///
    /// Cancelling the progress cancels all readers of the layer. A cancellation handler that the progress already has
    /// is also called.
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

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        // Cancelling this context wakes waiters through the guarded reader of the base.
        let context = context.makeChild()
        let progress = self.progress
        let registration = self.cancellation.onCancel { context.cancellation.cancel() }
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        progress.totalUnitCount = reader.info.byteCount ?? -1
        progress.completedUnitCount = byteOffset
        return CountingReader(reader, registration) { _ in progress.completedUnitCount = reader.byteOffset }
    }
}
