import BlobCore

/// The bytes of one answer: a window into an object, which grows while the answer arrives.
///
/// Kept as a whole for any number of readers, or, if it is a stream, dropped behind its only one.
final class RemoteBody: Sendable {
    enum Step {
        case bytes, notYet
        /// All bytes of the answer were read.
        case end
        /// All bytes of the answer were read, up to this offset, and it was the whole object.
        case endOfObject(Int64)
        /// The bytes at the offset come with another answer.
        case elsewhere
    }

    /// The range that was asked for; it has no end if all the rest was.
    let wanted: (start: Int64, end: Int64?)
    /// False when the whole object was asked for, without a range.
    var isRange: Bool { self.wanted.start > 0 || self.wanted.end != nil }
    let state: Locked<RemoteBodyState>
    let requests: any RemoteRequests
    private let relocation: Relocation
    /// Judges the head; returns the range of the bytes that follow it.
    let judge: @Sendable (RemoteBody, ResponseHead) throws(BlobError) -> Judgement
    let onFailure: @Sendable (RemoteBody, BlobError) -> Void

    /// The meaning of a head.
    enum Judgement {
        /// A range with the first byte of the wanted one.
        case range(Range<Int64>)
        case object(byteCount: Int64?)
        case explanation
        /// Nothing follows: the object does not go on at the asked offset, or has to be asked for in another way.
        case nothing
    }

    init(
        _ wanted: (start: Int64, end: Int64?), isStream: Bool, _ requests: any RemoteRequests, _ relocation: Relocation,
        judge: @escaping @Sendable (RemoteBody, ResponseHead) throws(BlobError) -> Judgement,
        onFailure: @escaping @Sendable (RemoteBody, BlobError) -> Void
    ) {
        (self.wanted, self.requests, self.relocation) = (wanted, requests, relocation)
        (self.judge, self.onFailure) = (judge, onFailure)
        self.state = Locked(
            RemoteBodyState(blocks: ByteBlocks(at: wanted.start), limit: wanted.end, isStream: isStream))
    }

    /// Starts the request.
    func start(_ fields: [BlobHTTPField], idleLimit: Duration?) {
        self.state.withLock { $0.repetition = (fields, idleLimit) }
        self.request(fields, idleLimit)
    }

    func request(_ fields: [BlobHTTPField], _ idleLimit: Duration?) {
        self.requests.makeRequest(fields) { request in
            do throws(BlobError) {
                var request = try request.get()
                request.idleLimit = idleLimit ?? request.idleLimit
                request.relocation = self.relocation
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

    /// True when this answer has, or will have, the byte at an offset for any reader.
    func serves(_ byteOffset: Int64) -> Bool {
        self.state.withLock { !$0.isStream && $0.failure == nil && $0.covers(byteOffset) }
    }

    /// The number of bytes that it holds when it is complete.
    var plannedByteCount: Int64 {
        self.state.withLock { ($0.limit ?? $0.blocks.start + Int64(RemoteBodyState.capacity)) - $0.blocks.start }
    }

    /// Makes the caller the only reader of an answer that is too long to be kept.
    ///
    /// - Returns: False when it is another reader's, or can be kept.
    func becomeStream(at byteOffset: Int64) -> Bool {
        let isStream = self.state.withLock { state in
            let isLong = (state.limit ?? .max) - state.blocks.start > Int64(RemoteBodyState.capacity)
            guard state.hasHead, !state.isStream, isLong, byteOffset >= state.blocks.start, state.failure == nil else {
                return false
            }
            (state.isStream, state.ownedStart) = (true, state.blocks.end)
            return true
        }
        if isStream { self.flush() }  // Other readers look elsewhere.
        return isStream
    }

    /// Returns true while the head is not known.
    ///
    /// - Throws: The error for which there will be none; one after the head comes behind the bytes before it.
    func isAwaited() throws(BlobError) -> Bool {
        try self.state.withLock { state throws(BlobError) in
            if !state.hasHead, let failure = state.failure { throw failure }
            return !state.hasHead && !state.isOver
        }
    }

    /// Appends bytes from an offset.
    ///
    /// - Parameter isOwner: True for the only reader of a stream.
    func read(at byteOffset: Int64, isOwner: Bool, into output: inout OutputRawSpan) throws(BlobError) -> Step {
        let start = output.byteCount
        while output.freeCapacity > 0 {
            let byteOffset = byteOffset + Int64(output.byteCount - start)
            let look: (step: Step, bytes: BlobBytes?)
            do throws(BlobError) {
                look = try self.look(at: byteOffset, isOwner)
            } catch {
                if output.byteCount > start { return .bytes }
                throw error
            }
            guard let bytes = look.bytes else { return output.byteCount > start ? .bytes : look.step }
            bytes.withUnsafeBytes { _ = output.append(contentsOf: $0) }
        }
        return .bytes
    }

    /// Returns bytes from an offset without copying them; nil when none are there.
    func take(at byteOffset: Int64, isOwner: Bool) -> BlobBytes? { try? self.look(at: byteOffset, isOwner).bytes }

    private func look(at byteOffset: Int64, _ isOwner: Bool) throws(BlobError) -> (step: Step, bytes: BlobBytes?) {
        var resumed: Transfer?
        defer { resumed?.resume() }
        return try self.state.withLock { state throws(BlobError) in
            guard !state.isStream || isOwner else { return (.elsewhere, nil) }
            if state.isStream { state.blocks.drop(before: byteOffset) }
            resumed = state.takeResumption()
            if byteOffset >= state.blocks.start, byteOffset < state.blocks.end {
                // A body serves any reader while it is kept.
                let isExclusive = isOwner && byteOffset >= state.ownedStart
                return (.bytes, state.blocks.bytes(at: byteOffset, isExclusive: isExclusive))
            }
            if let failure = state.failure { throw failure }
            if state.isOver, byteOffset >= state.blocks.end {
                return (state.isObject ? .endOfObject(state.blocks.end) : .end, nil)
            }
            return (state.hasHead && !state.covers(byteOffset) ? .elsewhere : .notYet, nil)
        }
    }

    /// Fires the slot of a reader at each change from now on.
    func join(_ slot: BlobWakerSlot) { self.state.withLock { $0.slots[ObjectIdentifier(slot)] = slot } }

    var hasHead: Bool { self.state.withLock { $0.hasHead } }

    /// Leaves the slot of a reader alone from now on; a stream ends with its reader.
    func leave(_ slot: BlobWakerSlot, isOwner: Bool) {
        _ = self.state.withLock { $0.slots.removeValue(forKey: ObjectIdentifier(slot)) }
        if isOwner { self.cancel() }
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
}
