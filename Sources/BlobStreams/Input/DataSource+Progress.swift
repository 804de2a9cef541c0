import BlobCore
public import Foundation

extension BlobInputStreamDataSource {
    /// Returns a layer over this source that keeps `progress` up to date, in bytes.
    ///
    /// Cancelling the progress cancels all readers of the layer. A cancellation handler already set on the progress is
    /// also called.
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

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        // Cancelling this context wakes waiters through the reader of the base.
        let context = opening.context.makeChild()
        let registration = self.cancellation.onCancel { context.cancellation.cancel() }
        let base = try self.base.open(at: opening.byteOffset, matching: opening.validator, context: context)
        self.progress.completedUnitCount = opening.byteOffset
        return .inspected(
            base, ProgressReport(progress: self.progress, registration: registration), startingAt: opening.byteOffset)
    }
}

private struct ProgressReport: BlobInspector {
    let progress: Progress
    /// The registration that forwards a cancellation of the progress, retained until the reader is closed.
    let registration: BlobRegistration

    func info(of base: BlobInfo) -> BlobInfo {
        self.progress.totalUnitCount = base.byteCount ?? -1
        return base
    }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
        self.progress.completedUnitCount = byteOffset + Int64(bytes.byteCount)
        return 0..<bytes.byteCount
    }
}
