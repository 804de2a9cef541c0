import BlobCore

/// The open directory and the reader of bytes that members of a zip share when they are read one after the other.
///
/// Without it, each member opens the archive four times, and reads its trailer. Holds two open bases and their buffers.
final class ZipPass: Sendable {
    /// The use by one member. Has one owner, and ends when that releases it.
    final class Lease {
        let directory: ZipDirectory
        let members: ArchiveScanner
        private let cancelling: BlobRegistration

        fileprivate init(_ directory: ZipDirectory, _ members: ArchiveScanner, _ cancelling: BlobRegistration) {
            (self.directory, self.members, self.cancelling) = (directory, members, cancelling)
        }

        deinit { self.cancelling.cancel() }
    }

    private struct Parked {
        let directory: ZipDirectory
        var members: ArchiveScanner
        let context: BlobContext

        /// Returns true when no reader of a member uses it, and a new one can.
        mutating func isUsable(for context: BlobContext) -> Bool {
            self.context.hasSameLimits(as: context) && !self.context.cancellation.isCancelled
                && !self.directory.scanner.hasFailed && !self.members.hasFailed
                && isKnownUniquelyReferenced(&self.members)
        }
    }

    private let parked = Locked<HandedOver<Parked>?>(nil)
    private let extents = Locked<(info: BlobInfo, result: Result<ZipExtents, BlobError>)?>(nil)

    /// Returns the places of all members, which are gathered once for each content, also of one that has a fault.
    func extents(_ directory: ZipDirectory, _ context: BlobContext) throws(BlobError) -> ZipExtents {
        let info = directory.scanner.info
        let known = self.extents.withLock { known in
            known?.info.validator == info.validator && known?.info.byteCount == info.byteCount ? known?.result : nil
        }
        if let known { return try known.get() }
        let result = Result { () throws(BlobError) in try directory.extents(context) }
        if case .failure(let error) = result, error.code != .inconsistent { throw error }
        self.extents.withLock { $0 = (info, result) }
        return try result.get()
    }

    /// Calls `body` with the directory and the reader of the members: those of the member before, if its reader is gone
    /// and none of them has failed.
    func withLease<Result>(
        over base: any BlobInputStreamDataSource, _ context: BlobContext,
        _ body: (Lease) throws(BlobError) -> Result
    ) throws(BlobError) -> Result {
        // Safe: taken out under the lock, and put back when no more than the reader of this member uses it.
        var kept = self.parked.exchange(nil)?.value
        if kept?.isUsable(for: context) != true { kept = nil }
        // Cancelled by the lease alone: the context of a member that is over may be cancelled, too.
        var own = context
        own.cancellation = kept?.context.cancellation ?? BlobCancellation()
        let cancelling = context.cancellation.onCancel { [cancellation = own.cancellation] in cancellation.cancel() }
        let used =
            if let kept { kept } else {
                Parked(
                    directory: try ZipDirectory(base, own), members: try ArchiveScanner(base, own), context: own)
            }
        // Also after a member that cannot be read.
        defer { _ = self.parked.exchange(HandedOver(used)) }
        return try body(Lease(used.directory, used.members, cancelling))
    }
}
