import BlobCore

/// The state of a ``RemoteBody``: its bytes, its ending, and the readers that wait.
struct RemoteBodyState {
    /// The number of bytes that wait for readers, from which the transfer is paused; it goes on at the half of it.
    ///
    /// The largest window, which ends and begins at whole blocks, fits.
    static let capacity = (1 << 20) + 2 * ByteBlocks.blockByteCount

    var blocks: ByteBlocks
    /// The offset behind the last byte that is to come; nil until the end of a body of unknown length.
    var limit: Int64?
    /// True when the answer has more bytes than were asked for, which are not taken.
    var isExcessive = false
    var hasHead = false
    /// True when the answer is the whole object.
    var isObject = false
    var isStream: Bool
    /// The offset of the first byte that only the owner of the stream has seen.
    var ownedStart: Int64 = 0
    var isPaused = false
    var isOver = false
    var failure: BlobError?
    var transfer: Transfer?
    /// The fields and the idle limit of the request, with which it can be repeated; nil once it was.
    var repetition: (fields: [BlobHTTPField], idleLimit: Duration?)?
    /// True when the answer taught how to make the request.
    var isCorrected = false
    var slots: [ObjectIdentifier: BlobWakerSlot] = [:]

    var isFull: Bool { self.blocks.byteCount >= Self.capacity }

    func covers(_ byteOffset: Int64) -> Bool {
        byteOffset >= self.blocks.start && (self.limit.map { byteOffset < $0 || self.isStream } ?? true)
    }

    /// Returns the transfer, if it is paused and there is room again.
    mutating func takeResumption() -> Transfer? {
        guard self.isPaused, self.blocks.byteCount <= Self.capacity / 2 else { return nil }
        self.isPaused = false
        return self.transfer
    }

    /// The error for a body that ended too early: libcurl checks the length of the body, and not that of a range.
    var shortage: BlobError? {
        guard let limit, self.blocks.end < limit else { return nil }
        return BlobError(.truncated, "The answer has fewer bytes than its header says.", isTransient: true)
    }
}
