import BlobCore

/// A walker over an archive that libarchive reads on a separate thread, for formats whose reader may loop.
final class ForeignWalker: MemberWalker {
    /// The walker, which the thread uses while its owner waits, and the owner between calls; once the thread is
    /// abandoned, it alone uses the walker.
    private final class Holder: @unchecked Sendable {  // Safe: one of two threads waits for the other.
        var walker: ArchiveWalker?
    }

    /// Bytes of libarchive that are valid until the next call.
    private struct Lent: @unchecked Sendable {  // Safe: as the holder; used before the next call.
        let bytes: UnsafeRawBufferPointer
        let byteOffset: Int64
    }

    private let thread: AbandonableThread
    private let holder: Holder
    private let context: BlobContext
    private var current: ArchiveEntry?

    let baseInfo: BlobInfo
    let isSequential: Bool
    let check: String?

    init(
        _ format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) {
        self.context = context
        self.check = format.memberChecksum
        self.thread = try AbandonableThread()
        let holder = Holder()
        self.holder = holder
        (self.baseInfo, self.isSequential) = try self.thread.run(context) { () throws(BlobError) in
            let walker = try ArchiveWalker(format, over: base, context)
            holder.walker = walker
            return (walker.baseInfo, walker.isSequential)
        }
    }

    deinit {
        // Freeing is a call of libarchive, too. The job has the last reference to the walker.
        let holder = self.holder
        try? self.thread.run(self.context) { holder.walker = nil }
    }

    var index: Int { self.current?.member.index ?? -1 }
    var place: Int64? { nil }
    func go(to place: Int64, index: Int) { preconditionFailure("This walker has no places.") }
    func isNamed(_ name: [UInt8]) -> Bool { self.current?.member.name == name }

    var entry: ArchiveEntry {
        guard let current else { preconditionFailure("There is no current member yet.") }
        return current
    }

    func advance() throws(BlobError) -> Bool {
        let holder = self.holder
        let next = try self.thread.run(self.context) { () throws(BlobError) in try holder.walker?.next() }
        guard let next else { return false }
        self.current = next
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        let holder = self.holder
        let lent = try self.thread.run(self.context) { () throws(BlobError) -> Lent? in
            guard let (bytes, byteOffset) = try holder.walker?.nextBlock() else { return nil }
            return Lent(bytes: bytes, byteOffset: byteOffset)
        }
        return (lent?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0), lent?.byteOffset ?? 0)
    }

    func finish() throws(BlobError) {
        let holder = self.holder
        try self.thread.run(self.context) { () throws(BlobError) in try holder.walker?.finish() }
    }
}
