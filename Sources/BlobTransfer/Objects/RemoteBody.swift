import BlobCore

/// The bytes of one response, a window into an object that grows while the response arrives.
///
/// The response is held in memory completely for any number of readers. If it is a stream, its bytes are instead
/// discarded as its only reader reads them.
final class RemoteBody: TransferSink {
    enum Step {
        case bytes, notYet
        /// All bytes of the response have been read.
        case end
        /// All bytes of the response have been read, up to this offset, and the response was the whole object.
        case endOfObject(Int64)
        /// Another response contains the bytes at the offset.
        case outOfRange
    }

    /// The requested range, without an end if it extends to the end of the object.
    let wantedRange: (start: Int64, end: Int64?)
    /// False if the whole object was requested, without a range.
    var isRange: Bool { self.wantedRange.start > 0 || self.wantedRange.end != nil }
    private let state: Locked<RemoteBodyState>
    private let requests: any RemoteRequests
    private let relocation: Relocation
    /// Judges a response head, and returns its meaning.
    private let classify: @Sendable (RemoteBody, ResponseHead) throws(BlobError) -> AnswerKind
    private let onEnd: @Sendable (RemoteBody, BlobError?) -> Void

    /// The meaning of a response head.
    enum AnswerKind {
        /// A range that contains the first wanted byte.
        case range(Range<Int64>)
        case object(byteCount: Int64?)
        case explanation
        /// No bytes follow: the object ends before the requested offset or must be requested differently.
        case nothing
    }

    init(
        _ wanted: (start: Int64, end: Int64?), isStream: Bool, spares: [Window] = [],
        _ requests: any RemoteRequests, _ relocation: Relocation,
        classify: @escaping @Sendable (RemoteBody, ResponseHead) throws(BlobError) -> AnswerKind,
        onEnd: @escaping @Sendable (RemoteBody, BlobError?) -> Void
    ) {
        (self.wantedRange, self.requests, self.relocation) = (wanted, requests, relocation)
        (self.classify, self.onEnd) = (classify, onEnd)
        self.state = Locked(
            RemoteBodyState(
                blocks: ByteBlocks(at: wanted.start, spares: spares), endOffset: wanted.end, isStream: isStream))
    }

    /// Starts the request.
    func start(_ fields: [BlobHTTPField], _ job: RequestJob) {
        self.state.withLock { $0.repeatedRequest = (fields, job) }
        self.request(fields, job)
    }

    private func request(_ fields: [BlobHTTPField], _ job: RequestJob) {
        self.requests.makeRequest(fields) { request in
            do throws(BlobError) {
                var request = try request.get()
                request.use(job)
                request.byteOffset = self.wantedRange.start
                request.relocation = self.relocation
                request.isShort = (self.wantedRange.end ?? .max) - self.wantedRange.start <= 1 << 20
                let transfer = Transfer(request, self)
                let isOver = self.state.withLock { state in
                    if !state.isOver { state.transfer = transfer }
                    return state.isOver
                }
                if !isOver { try transfer.start() }
            } catch {
                self.end(error)
            }
        }
    }

    // MARK: Reading

    /// Returns true if this response has, or will have, the byte at an offset for any reader.
    func serves(_ byteOffset: Int64) -> Bool {
        self.state.withLock { state in
            !state.isStream && state.covers(byteOffset) && (state.failure == nil || byteOffset < state.blocks.endOffset)
        }
    }

    /// True if the response has any bytes.
    var hasBytes: Bool { self.state.withLock { $0.blocks.byteCount > 0 } }

    /// The number of bytes that the response holds in memory once it is complete.
    var plannedByteCount: Int64 {
        self.state.withLock {
            ($0.endOffset ?? $0.blocks.startOffset + Int64(RemoteBodyState.capacity)) - $0.blocks.startOffset
        }
    }

    /// True while the transfer is paused until a reader frees space.
    var isPaused: Bool { self.state.withLock { $0.isPaused && !$0.isOver } }

    /// True while more bytes may arrive.
    var isUnderWay: Bool { self.state.withLock { !$0.isOver } }

    /// Turns a response that was cut off into a complete, shorter one. Returns false if it has a reader, which then
    /// receives the error.
    func becomeShort() -> Bool {
        self.state.withLock { state in
            guard state.slots.isEmpty, state.failure != nil else { return false }
            (state.failure, state.endOffset) = (nil, state.blocks.endOffset)
            return true
        }
    }

    /// The offset after the last byte of a response that was cut off; nil for any other response.
    var failedEndOffset: Int64? { self.state.withLock { $0.failure == nil ? nil : $0.blocks.endOffset } }

    var hasReaders: Bool { self.state.withLock { !$0.slots.isEmpty } }

    /// Makes the caller the only reader of a response that is too long to hold in memory completely.
    ///
    /// - Returns: False if the response has another owner or can be held in memory completely.
    func becomeStream(at byteOffset: Int64) -> Bool {
        let isStream = self.state.withLock { state in
            guard state.hasHead, !state.isStream, state.isLong, byteOffset >= state.blocks.startOffset,
                state.failure == nil
            else {
                return false
            }
            (state.isStream, state.ownedStart) = (true, state.blocks.endOffset)
            return true
        }
        if isStream { self.flush() }  // Other readers continue with another response.
        return isStream
    }

    /// Returns true until the head arrives.
    ///
    /// - Throws: The error that occurred instead of a head. A later error is thrown after the bytes that precede it.
    func isAwaited() throws(BlobError) -> Bool {
        try self.state.withLock { state throws(BlobError) in
            if !state.hasHead, let failure = state.failure { throw failure }
            return !state.isOver && !state.hasHead || state.isHeld
        }
    }

    /// Appends bytes from an offset.
    ///
    /// - Parameter isOwner: True for the only reader of a stream.
    func read(at byteOffset: Int64, isOwner: Bool, into output: inout OutputRawSpan) throws(BlobError) -> Step {
        let start = output.byteCount
        while output.freeCapacity > 0 {
            let byteOffset = byteOffset + Int64(output.byteCount - start)
            let next: (step: Step, bytes: BlobBytes?)
            do throws(BlobError) {
                next = try self.nextBytes(at: byteOffset, isOwner)
            } catch {
                if output.byteCount > start { return .bytes }
                throw error
            }
            guard let bytes = next.bytes else { return output.byteCount > start ? .bytes : next.step }
            bytes.withUnsafeBytes { _ = output.append(contentsOf: $0) }
        }
        return .bytes
    }

    /// Returns bytes from an offset without copying them; nil if no bytes are available.
    func readBytes(at byteOffset: Int64, isOwner: Bool) -> BlobBytes? {
        try? self.nextBytes(at: byteOffset, isOwner).bytes
    }

    private func nextBytes(at byteOffset: Int64, _ isOwner: Bool) throws(BlobError) -> (step: Step, bytes: BlobBytes?) {
        var resumed: Transfer?
        defer { resumed?.resume() }
        return try self.state.withLock { state throws(BlobError) in
            guard !state.isStream || isOwner else { return (.outOfRange, nil) }
            if state.isStream { state.blocks.drop(before: byteOffset) }
            resumed = state.takeResumption()
            if byteOffset >= state.blocks.startOffset, byteOffset < state.blocks.endOffset, !state.hasPendingDigestCheck
            {
                // While a body is held in memory, it remains available to any reader.
                let isExclusive = isOwner && byteOffset >= state.ownedStart
                return (.bytes, state.blocks.bytes(at: byteOffset, isExclusive: isExclusive))
            }
            if let failure = state.failure { throw failure }
            if state.isOver, byteOffset >= state.blocks.endOffset {
                return (state.isObject ? .endOfObject(state.blocks.endOffset) : .end, nil)
            }
            return (state.hasHead && !state.covers(byteOffset) ? .outOfRange : .notYet, nil)
        }
    }

    /// Registers a reader's waker slot, which then fires at each change.
    func join(_ slot: BlobWakerSlot) { self.state.withLock { $0.slots[ObjectIdentifier(slot)] = slot } }

    var hasHead: Bool { self.state.withLock { $0.hasHead } }

    /// Makes readers wait as if the head had not arrived, or ends this wait.
    func setHeld(_ isHeld: Bool) {
        self.state.withLock { $0.isHeld = isHeld }
        self.flush()
    }

    /// The digest that all bytes of this response matched; nil if no digest was compared.
    var proof: String? { self.state.withLock { $0.proof } }

    /// The comparison with the digests of this response; nil unless the response was cut off.
    var cutCheck: StatedDigestCheck? { self.state.withLock { $0.failure == nil ? nil : $0.digestCheck } }

    /// Unregisters a reader's waker slot. A stream ends with its reader.
    func leave(_ slot: BlobWakerSlot, isOwner: Bool) {
        _ = self.state.withLock { $0.slots.removeValue(forKey: ObjectIdentifier(slot)) }
        if isOwner { self.cancel() }
    }

    /// Drops the bytes of a response that has ended and has no readers, and returns their memory for another response.
    func takeSpares() -> [Window] {
        self.state.withLock { $0.isOver && $0.slots.isEmpty ? $0.blocks.takeSpares() : [] }
    }

    /// Ends the transfer and frees the bytes.
    func cancel() {
        let transfer = self.state.withLock { state in
            state.isOver = true
            state.blocks.removeAll()
            return state.transfer.take()
        }
        transfer?.cancel()
    }

    func begin(_ head: ResponseHead) throws(BlobError) -> TransferDisposition {
        let kind = try self.classify(self, head)
        return try self.state.withLock { state throws(BlobError) in
            switch kind {
            case .explanation: return .explain
            case .nothing: state.endOffset = state.blocks.startOffset
            case .range(let range):
                let limit = min(range.upperBound, self.wantedRange.end ?? .max)
                let spares = state.blocks.takeSpares()
                (state.blocks, state.endOffset) = (ByteBlocks(at: range.lowerBound, spares: spares), limit)
                state.isExcessive = limit < range.upperBound
                state.digestCheck =
                    state.isExcessive ? nil : StatedDigestCheck(head.bodyDigests, from: range.lowerBound, to: limit)
            case .object(let byteCount):
                (state.blocks, state.endOffset, state.isObject) = (ByteBlocks(at: 0), byteCount, true)
            }
            state.hasHead = true
            if case .nothing = kind { return .drop }
            return .deliver
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (isTaken, isTooLong, isWrong) = self.state.withLock { state in
            let room = state.endOffset.map { Int(clamping: $0 - state.blocks.endOffset) } ?? .max
            let isTooLong = bytes.count > room
            let isWrong = isTooLong && !state.isExcessive
            state.isPaused = !isWrong && (state.isFull || state.isOver)
            let isTaken = !isWrong && !state.isPaused
            if isTaken { state.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(room))) }
            return (isTaken, isTooLong, isWrong)
        }
        if isWrong {
            self.end(BlobError(.corrupted, "The response has more bytes than its header states."))
        } else if isTaken, isTooLong {
            self.end(nil)
        }
        return isTaken && !isTooLong
    }

    func flush() {
        let slots = self.state.withLock { state in
            Array(state.slots.values)
        }
        for slot in slots { slot.fire() }
    }

    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError {
        let mayRepeat = self.state.withLock { $0.repeatedRequest != nil }
        if mayRepeat, self.requests.correctsRequest(head, explanation) { self.state.withLock { $0.isCorrected = true } }
        return self.requests.refusal(head, explanation)
    }

    func end(_ error: BlobError?) {
        let repetition = self.state.withLock { state in
            guard state.isCorrected, !state.isOver else {
                return nil as (fields: [BlobHTTPField], job: RequestJob)?
            }
            (state.isCorrected, state.transfer) = (false, nil)
            return state.repeatedRequest.take()
        }
        if let repetition { return self.request(repetition.fields, repetition.job) }
        let (transfer, failure) = self.state.withLock { state -> (Transfer?, BlobError?) in
            guard !state.isOver else { return (nil, nil) }
            let hasPendingDigestCheck = state.hasPendingDigestCheck
            state.isOver = true
            state.failure = error ?? state.shortageError ?? state.mismatchError()
            // These bytes have not been delivered and can be requested again.
            if hasPendingDigestCheck, state.failure != nil { state.blocks.removeAll() }
            if state.failure == nil { state.endOffset = state.blocks.endOffset }
            let transfer = state.transfer.take()
            return (state.failure != nil || state.isExcessive ? transfer : nil, state.failure)
        }
        transfer?.cancel()
        self.onEnd(self, failure)
        self.flush()
    }
}

/// The state of a ``RemoteBody``: its bytes, its end, and its waiting readers.
struct RemoteBodyState {
    /// The number of unread bytes at which the transfer is paused; it resumes at half this number.
    ///
    /// The capacity holds the largest window, extended to whole blocks, and the largest piece.
    static let capacity = Int(PreparedAnswers.maximumPieceByteCount) + 2 * ByteBlocks.blockByteCount

    /// The same limit for a longer response, which is streamed.
    static let streamCapacity = 1 << 20

    var blocks: ByteBlocks
    /// The offset after the last byte of the body; nil if the length of the body is unknown before the end.
    var endOffset: Int64?
    /// True if the response contains more bytes than were requested; the excess is ignored.
    var isExcessive = false
    var hasHead = false
    var isHeld = false
    /// True if the response is the whole object.
    var isObject = false
    var isStream: Bool
    /// The offset from which only the stream's owner has received bytes.
    var ownedStart: Int64 = 0
    var isPaused = false
    var isOver = false
    var failure: BlobError?
    var transfer: Transfer?
    /// The fields and the job for repeating the request; nil after the request was repeated.
    var repeatedRequest: (fields: [BlobHTTPField], job: RequestJob)?
    /// True if the response showed how to correct the request.
    var isCorrected = false
    var slots: [ObjectIdentifier: BlobWakerSlot] = [:]

    /// The comparison with the digests that the head states for the body.
    var digestCheck: StatedDigestCheck?
    var proof: String?

    /// True while the bytes are withheld until their digest is compared. A stream compares its digest at its end.
    var hasPendingDigestCheck: Bool { self.digestCheck != nil && !self.isOver && !self.isStream && !self.isLong }

    /// True if the response is longer than the capacity.
    var isLong: Bool { (self.endOffset ?? .max) - self.blocks.startOffset > Int64(Self.capacity) }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        self.digestCheck?.append(bytes, at: self.blocks.endOffset)
        self.blocks.append(bytes)
    }

    /// Returns the error if the body does not match its digest. Call this method once.
    mutating func mismatchError() -> BlobError? {
        var check = self.digestCheck.take()
        do throws(BlobError) {
            self.proof = try check?.finish()
            return nil
        } catch {
            var error = error
            // Unread bytes can be requested again.
            error.isTransient = !self.isStream
            return error
        }
    }

    private var capacity: Int { self.isLong ? Self.streamCapacity : Self.capacity }

    var isFull: Bool { self.blocks.byteCount >= self.capacity }

    func covers(_ byteOffset: Int64) -> Bool {
        byteOffset >= self.blocks.startOffset && (self.endOffset.map { byteOffset < $0 || self.isStream } ?? true)
    }

    /// Returns the transfer if it is paused and few enough bytes are unread.
    mutating func takeResumption() -> Transfer? {
        guard self.isPaused, self.blocks.byteCount <= self.capacity / 2 else { return nil }
        self.isPaused = false
        return self.transfer
    }

    /// The error for a body that ended too early. libcurl checks the length of a body, but not the length of a range.
    var shortageError: BlobError? {
        guard let limit = self.endOffset, self.blocks.endOffset < limit else { return nil }
        return BlobError(.truncated, "The response has fewer bytes than its header states.", isTransient: true)
    }
}

/// A sequence of bytes in blocks, which can grow at its end and shrink from its front.
///
/// Existing bytes never change or move, so lent bytes may be read while more are appended.
struct ByteBlocks {
    static let blockByteCount = 64 * 1024

    private var blocks: [Window] = []
    /// Empty blocks to reuse, so that a long sequence does not allocate.
    private var spares: [Window] = []
    /// The offset of the first byte of the first block.
    private(set) var startOffset: Int64
    private(set) var endOffset: Int64

    /// - Parameter spares: Empty blocks to use first.
    init(at byteOffset: Int64, spares: [Window] = []) {
        (self.startOffset, self.endOffset, self.spares) = (byteOffset, byteOffset, spares)
    }

    var byteCount: Int { Int(self.endOffset - self.startOffset) }

    /// Appends bytes.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            if self.byteCount == self.blocks.count * Self.blockByteCount {
                self.blocks.append(self.spares.popLast() ?? Window(Self.blockByteCount))
            }
            let count = self.blocks[self.blocks.count - 1].append { $0.append(contentsOf: rest) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            self.endOffset += Int64(count)
        }
    }

    /// Returns the bytes from an offset within the sequence to the end of its block or of the sequence.
    func bytes(at byteOffset: Int64, isExclusive: Bool) -> BlobBytes {
        let (index, offset) = Int(byteOffset - self.startOffset).quotientAndRemainder(dividingBy: Self.blockByteCount)
        let block = self.blocks[index]
        return BlobBytes(
            UnsafeRawBufferPointer(rebasing: block.bytes[offset...]), ownedBy: block, isExclusive: isExclusive)
    }

    /// Drops the blocks that end at or before an offset.
    mutating func drop(before byteOffset: Int64) {
        while byteOffset - self.startOffset >= Int64(Self.blockByteCount), !self.blocks.isEmpty,
            self.byteCount >= Self.blockByteCount
        {
            var block = self.blocks.removeFirst()
            self.startOffset += Int64(Self.blockByteCount)
            guard self.spares.count < 16, isKnownUniquelyReferenced(&block) else { continue }
            block.drop(block.count)
            self.spares.append(block)
        }
    }

    /// Drops all bytes. Returns the blocks that have no other owners, so that they can be reused.
    mutating func takeSpares() -> [Window] {
        var free = self.spares
        for index in self.blocks.indices where isKnownUniquelyReferenced(&self.blocks[index]) {
            self.blocks[index].drop(self.blocks[index].count)
            free.append(self.blocks[index])
        }
        self.removeAll()
        return free
    }

    /// Frees the memory of all blocks.
    mutating func removeAll() { (self.blocks, self.spares, self.startOffset) = ([], [], self.endOffset) }
}
