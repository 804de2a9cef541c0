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

/// The places of all members of a zip, gathered in one pass over its directory: where the entry of each one is, and which
/// bounds the others set to its bytes. Takes at most 32 bytes for each member.
struct ZipExtents: Sendable {
    /// The members whose local headers are at one offset.
    private struct Group {
        let start: Int64
        /// The highest offset at which one of them, or of those before them, can end.
        var end: Int64
        /// True when they are different members, which overlap.
        var isShared = false
    }

    /// The offsets of the entries, by the indices of the members.
    private(set) var recordOffsets: [Int64] = []
    /// The groups in ascending order.
    private let groups: [Group]
    private let directoryOffset: Int64

    /// The facts gathered during a pass.
    struct Builder {
        fileprivate var recordOffsets: [Int64] = []
        fileprivate var extents: [(start: Int64, end: Int64, hash: Int)] = []

        mutating func append(_ record: ZipRecord, at recordOffset: Int64) {
            var hasher = Hasher()
            hasher.combine(bytes: record.bytes)
            self.recordOffsets.append(recordOffset)
            self.extents.append((record.localOffset, record.minimumEnd, hasher.finalize()))
        }
    }

    init(_ builder: consuming Builder, before directoryOffset: Int64) {
        var groups: [Group] = []
        var hash = 0
        builder.extents.sort { $0.start < $1.start }
        for extent in builder.extents {
            let end = max(extent.end, groups.last?.end ?? 0)
            if let last = groups.last, last.start == extent.start {
                groups[groups.count - 1].end = end
                // An entry that is repeated stands for one member.
                if extent.hash != hash { groups[groups.count - 1].isShared = true }
            } else {
                groups.append(Group(start: extent.start, end: end))
                hash = extent.hash
            }
        }
        (self.groups, self.recordOffsets, self.directoryOffset) = (groups, builder.recordOffsets, directoryOffset)
    }

    /// True when no members can overlap each other or the directory.
    var areDisjoint: Bool {
        zip(self.groups, self.groups.dropFirst()).allSatisfy { $0.end <= $1.start }
            && !self.groups.contains(where: \.isShared) && self.groups.last?.end ?? 0 <= self.directoryOffset
    }

    /// Returns the bounds of the member whose local header is at an offset.
    ///
    /// - Complexity: O(log members).
    func bounds(at localOffset: Int64) -> ZipMemberBounds {
        var (low, high) = (0, self.groups.count)
        while low < high {
            let middle = (low + high) / 2
            if self.groups[middle].start < localOffset { low = middle + 1 } else { high = middle }
        }
        let isKnown = low < self.groups.count && self.groups[low].start == localOffset
        let next = isKnown ? low + 1 : low
        let end = low > 0 ? self.groups[low - 1].end : 0
        return ZipMemberBounds(
            precedingEnd: isKnown && self.groups[low].isShared ? .max : end,
            next: next < self.groups.count ? self.groups[next].start : self.directoryOffset)
    }
}
