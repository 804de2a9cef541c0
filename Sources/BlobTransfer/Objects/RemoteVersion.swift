import BlobCore

/// One version of an object: its facts, and the answers that are kept for its readers.
final class RemoteVersion: Sendable {
    /// The stages of a reader, which decide how many bytes its next request asks for.
    enum Progress {
        case beginning
        /// It has read one answer, from an offset in the object.
        case continued
        /// It continues to read: all the rest is requested.
        case reading
        /// It reads a part, beside readers of other parts: one request is enough.
        case readingPart
    }

    private struct State {
        var facts: RemoteFacts?
        /// The facts from the first answer, while other requests ask for digests.
        var incompleteFacts: RemoteFacts?
        /// True when a reader is likely to read all of the object, and compares its digests.
        var wantsDigests = false
        /// The length of the object, once an answer told it or its end was met.
        var byteCount: Int64?
        /// The end of the range that reaches farthest of those that the server has sent.
        var reach: Int64 = 0
        /// False once an answer was not the range that was asked for.
        var hasRanges = true
        /// True once an answer was the beginning of the range that was asked for.
        var hasShortAnswers = false
        /// True once an answer that is read when it is whole was not: smaller ones are asked for.
        var hasCutAnswers = false
        /// True when the server refused a range before anything was known of the object.
        var mustAskForStart = false
        /// The request under way whose answer will tell the facts.
        var first: RemoteBody?
        /// The answers that are kept, the one used last at the end.
        var bodies: [RemoteBody] = []
        /// The answers that were requested ahead.
        var prepared = PreparedAnswers()
        /// The memory of the one that was read last.
        var spares: [Window] = []
        /// The longest time without activity on the connections of these; nil is the default.
        var idleLimit: Duration?
    }

    /// The bytes that are requested at once, at least: one block of a cache.
    private static let windowByteCount = Int64(ByteBlocks.blockByteCount)
    /// The distance to the end of the object within which all the rest is requested: the directory of an archive.
    private static let tailByteCount: Int64 = 1 << 20
    /// The bytes that are requested at once when reading continues after the first window.
    private static let secondWindowByteCount: Int64 = 1 << 20

    /// The rest of an object that is not requested at once, but in pieces, over several connections.
    private static let splitByteCount: Int64 = 8 << 20

    private let requests: any RemoteRequests
    private let relocation = Relocation()
    private let search = BlobCancellation()
    private let cacheByteCount: Int64
    private let onEnd: @Sendable (RemoteVersion) -> Void
    private let state = Locked(State())

    /// - Parameter onEnd: Called when the object has another version, or when there are no facts to be had.
    init(
        _ requests: any RemoteRequests, cacheByteCount: Int64, onEnd: @escaping @Sendable (RemoteVersion) -> Void
    ) {
        (self.requests, self.cacheByteCount, self.onEnd) = (requests, cacheByteCount, onEnd)
    }

    deinit {
        self.search.cancel()
        for body in self.state.withLock({ $0.bodies + $0.prepared.bodies }) { body.cancel() }
    }

    /// The info of the version; nil until an answer has told it.
    var info: BlobInfo? { self.facts?.info }

    /// The facts of the version; nil until an answer has told them.
    var facts: RemoteFacts? { self.state.withLock { $0.facts } }

    /// The length of the object; nil as long as no answer told it and its end was not met.
    var byteCount: Int64? { self.state.withLock { $0.byteCount } }

    /// Returns the answer with the bytes from an offset, or the one that will have the facts; makes a request for it
    /// when there is no such answer.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset in the object.
    ///   - byteCount: The number of bytes that a reader is known to need.
    ///   - progress: What the reader has done before.
    ///   - planned: The end of the pieces that were requested ahead for the reader.
    ///   - idleLimit: The longest time without activity on the connection; nil is the default.
    /// - Returns: The answer, and true if it is a stream for this reader; nil at the end of the object.
    func body(
        at byteOffset: Int64, atLeast byteCount: Int, _ progress: Progress, planned: inout Int64, idleLimit: Duration?
    ) -> (body: RemoteBody, isOwner: Bool)? {
        for body in self.state.withLock({ $0.prepared.removeStale() }) { body.cancel() }
        if progress == .reading {
            self.state.withLock { state in
                guard let end = state.byteCount, state.hasRanges, end - byteOffset >= Self.splitByteCount,
                    state.facts?.info.validator?.isStrong == true
                else { return }
                state.prepared.plan(after: byteOffset, to: end, planned: &planned)
                state.idleLimit = idleLimit
            }
            self.startPrepared()
        }
        let found = self.state.withLock { state -> (body: RemoteBody, isNew: Bool, isOwner: Bool)? in
            if state.facts == nil, let first = state.first { return (first, false, false) }
            if let end = state.byteCount, byteOffset >= end { return nil }
            if let body = state.prepared.body(at: byteOffset) { return (body, false, false) }
            if let index = state.bodies.lastIndex(where: { $0.serves(byteOffset) }) {
                state.bodies.append(state.bodies.remove(at: index))
                return (state.bodies[state.bodies.count - 1], false, false)
            }
            let isStream = progress == .reading || progress == .readingPart || !state.hasRanges
            let body = self.makeBody(self.range(at: byteOffset, byteCount, progress, state), isStream)
            if state.facts == nil { (state.first, state.wantsDigests) = (body, state.wantsDigests || byteOffset == 0) }
            if !isStream { self.keep(body, &state) }
            return (body, true, isStream)
        }
        guard let found else { return nil }
        if found.isNew { found.body.start(self.fields(for: found.body), idleLimit: idleLimit) }
        return (found.body, found.isOwner)
    }

    /// The scheme of the object's locator.
    var scheme: String { self.requests.scheme }

    /// Gives up the version: its bytes are not those that the server stored.
    func forget() { self.onEnd(self) }

    /// Requests ranges that will be read next, as far as there is room, and the others later.
    ///
    /// - Parameter arePieces: False to request each range at once, however long it is.
    func prepare(_ ranges: [Range<Int64>], arePieces: Bool, idleLimit: Duration?) {
        self.state.withLock { state in
            guard state.hasRanges else { return }
            let missing = ranges.filter { range in
                !state.bodies.contains { $0.serves(range.lowerBound) && $0.serves(range.upperBound - 1) }
            }
            state.prepared.plan(missing, within: state.byteCount, arePieces: arePieces)
            state.wantsDigests = state.wantsDigests || ranges.contains { $0.lowerBound == 0 }
            state.idleLimit = idleLimit
        }
        self.startPrepared()
    }

    private func startPrepared() {
        while let (body, idleLimit) = self.state.withLock({ state -> (RemoteBody, Duration?)? in
            guard state.hasRanges else {
                state.prepared.removePlans()
                return nil
            }
            // The first answer tells whether there are ranges.
            guard state.facts != nil || state.first == nil, let plan = state.prepared.next() else { return nil }
            let spares = state.spares
            state.spares = []
            let body = self.makeBody((plan.range.lowerBound, plan.range.upperBound), false, spares)
            state.prepared.add(body, for: plan)
            if state.facts == nil { state.first = body }
            return (body, state.idleLimit)
        }) { body.start(self.fields(for: body), idleLimit: idleLimit) }
    }

    /// Called when a reader has read bytes of an answer from an offset, and leaves it.
    func wasRead(_ body: RemoteBody, from byteOffset: Int64) {
        self.state.withLock { state in
            guard state.prepared.wasRead(body, from: byteOffset) else { return }
            // A short one may be looked at again.
            if body.plannedByteCount <= Self.tailByteCount {
                self.keep(body, &state)
            } else if state.spares.isEmpty {
                state.spares = body.takeSpares()
            }
        }
        self.startPrepared()
    }

    /// Cancels what was requested ahead for a reader that leaves.
    func cancel(_ range: Range<Int64>) {
        for body in self.state.withLock({ $0.prepared.cancel(range) }) { body.cancel() }
    }

    /// Leaves an answer to its reader.
    func release(_ body: RemoteBody) { self.state.withLock { $0.bodies.removeAll { $0 === body } } }

    // MARK: Requests

    private func makeBody(_ range: (Int64, Int64?), _ isStream: Bool, _ spares: [Window] = []) -> RemoteBody {
        RemoteBody(range, isStream: isStream, spares: spares, self.requests, self.relocation) {
            [weak self] body, head throws(BlobError) in
            guard let self else { throw BlobError(.cancelled, "The object is not read any more.") }
            defer { self.startPrepared() }
            return try self.judge(body, head)
        } onEnd: { [weak self] body, error in
            if let error { self?.note(error, of: body) }
            self?.startPrepared()
        }
    }

    private func range(
        at byteOffset: Int64, _ byteCount: Int, _ progress: Progress, _ state: State
    ) -> (Int64, Int64?) {
        guard state.hasRanges else { return (0, nil) }
        func next(before end: Int64) -> Int64? {
            (state.bodies + state.prepared.bodies).map(\.wanted.start).filter { $0 > byteOffset && $0 < end }.min()
        }
        guard progress != .reading, progress != .readingPart else { return (byteOffset, next(before: .max)) }
        guard !state.mustAskForStart || state.facts != nil else { return (0, Self.windowByteCount) }
        guard !state.hasCutAnswers else {
            return (byteOffset, next(before: byteOffset + Self.windowByteCount) ?? byteOffset + Self.windowByteCount)
        }
        let least = progress == .continued ? Self.secondWindowByteCount : Self.windowByteCount
        let wanted = min(max(Int64(byteCount), least), Self.secondWindowByteCount)
        // Whole blocks, so that neighbours neither overlap nor leave gaps.
        let blockStart = byteOffset / Self.windowByteCount * Self.windowByteCount
        let start = state.hasShortAnswers ? byteOffset : blockStart
        let (sum, overflows) = byteOffset.addingReportingOverflow(wanted + Self.windowByteCount - 1)
        var end = overflows ? .max : sum / Self.windowByteCount * Self.windowByteCount
        if let whole = state.byteCount {
            end = whole - byteOffset <= Self.tailByteCount ? whole : min(end, whole)
        }
        return (start, next(before: end) ?? end)
    }

    private func fields(for body: RemoteBody) -> [BlobHTTPField] {
        let (hasRanges, condition) = self.state.withLock { ($0.hasRanges, $0.facts?.condition) }
        guard hasRanges else { return [] }
        let last = body.wanted.end.map { String($0 - 1) } ?? ""
        let range = BlobHTTPField("Range", "bytes=\(body.wanted.start)-\(last)")
        let name = self.requests.conditionField
        // Only a strong tag can match `If-Match`.
        guard let condition, name == "If-Range" || condition.hasPrefix("\"") else { return [range] }
        return [range, BlobHTTPField(name, condition)]
    }

    /// Keeps an answer, and forgets the ones that were not used for longest when there are too many bytes.
    private func keep(_ body: RemoteBody, _ state: inout State) {
        state.bodies.append(body)
        var byteCount = state.bodies.reduce(0) { $0 + $1.plannedByteCount }
        while byteCount > self.cacheByteCount, state.bodies.count > 1 {
            byteCount -= state.bodies.removeFirst().plannedByteCount
        }
    }

    /// Judges the head of an answer.
    ///
    /// An answer that cannot be used as a range is requested once more without one: this type chose the range, and not
    /// its user.
    private func judge(_ body: RemoteBody, _ head: ResponseHead) throws(BlobError) -> RemoteBody.Judgement {
        defer { self.forgetFirst(body) }
        let isKnown = self.info != nil
        let (range, hasField) = try Self.range(head)
        switch head.status {
        case 200, 203:
            let announced = Self.byteCount(head)
            // Not a part, which some servers send so; RFC 9110, section 14.4, gives the field no meaning here.
            let isWhole =
                range.map { $0.isWhole && announced ?? $0.byteCount == $0.byteCount } ?? !(hasField && body.isRange)
            guard isWhole else {
                if self.disableRanges(for: body) { return .nothing }
                throw BlobError(.corrupted, "The server answered \(head.status) with a part of the object only.")
            }
            let byteCount = announced ?? range?.byteCount
            try self.learn(head, byteCount: byteCount, reach: 0, hasRanges: false, from: body)
            return .object(byteCount: byteCount)
        case 206:
            let (bytes, byteCount): (Range<Int64>, Int64?)
            do throws(BlobError) {
                (bytes, byteCount) = try Self.check(range, of: head, asked: body.wanted)
            } catch {
                if self.disableRanges(for: body) { return .nothing }
                throw error
            }
            if !RemoteFacts(head, byteCount: byteCount, hasRanges: true).canBeJoined,
                self.disableRanges(for: body)
            {
                return .nothing
            }
            try self.learn(head, byteCount: byteCount, reach: bytes.upperBound, hasRanges: body.isRange, from: body)
            let isShort = bytes.upperBound < min(body.wanted.end ?? .max, byteCount ?? .max)
            if isShort { self.state.withLock { $0.hasShortAnswers = true } }
            return .range(bytes)
        case 416 where try self.takesAsEnd(head, range?.byteCount, at: body.wanted.start): return .nothing
        case 412 where isKnown: throw Self.changed
        case 416 where !isKnown && range?.byteCount == 0:
            try self.learn(head, byteCount: 0, reach: 0, hasRanges: true, from: body)
            return .nothing
        case 416 where !isKnown && body.wanted.start > 0:
            self.state.withLock { $0.mustAskForStart = true }
            return .nothing
        // Some stores refuse any range of an empty object, and do not tell its length.
        case 416 where self.disableRanges(for: body): return .nothing
        case 416 where isKnown: throw Self.changed
        default: return .explanation
        }
    }

    /// Returns the range in a head, nil when it has no valid one or two that differ, and whether it has the field.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for an encoding of the message that was not asked for.
    private static func range(_ head: ResponseHead) throws(BlobError) -> (range: ContentRange?, hasField: Bool) {
        let ranges = head.values(of: "content-range")
        let encoding = head.value(of: "transfer-encoding")?.lowercased() ?? "chunked"
        guard ["chunked", "identity"].contains(encoding) else {
            throw BlobError(.unsupported, "The server answered with the Transfer-Encoding '\(encoding)'.")
        }
        let isOne = ranges.allSatisfy { $0 == ranges.first }
        return (isOne ? ranges.first.flatMap(ContentRange.init) : nil, !ranges.isEmpty)
    }

    /// The announced length of the body in bytes; nil without one.
    private static func byteCount(_ head: ResponseHead) -> Int64? {
        head.value(of: "transfer-encoding") == nil ? head.contentLength : nil
    }

    /// Asks without ranges from now on; returns false for the answer to a request that had none.
    private func disableRanges(for body: RemoteBody) -> Bool {
        self.state.withLock { $0.hasRanges = false }
        return body.isRange
    }

    /// Takes the refusal of a range for the end of an object whose length was unknown.
    ///
    /// - Parameter byteCount: The length that the refusal tells. Without one, a refusal behind the last byte that there
    ///   was means the end; one farther on means that the object has to be read up to its end.
    /// - Returns: False when the first answer told the length, or was no range.
    private func takesAsEnd(
        _ head: ResponseHead, _ byteCount: Int64?, at start: Int64
    ) throws(BlobError) -> Bool {
        let isSame = self.state.withLock { state -> Bool? in
            guard let facts = state.facts, facts.info.byteCount == nil, facts.info.isRandomAccess else { return nil }
            if let tag = head.value(of: "etag"), let known = facts.tag, tag != known { return false }
            guard state.reach <= byteCount ?? start, byteCount ?? start <= start else { return false }
            if let known = state.byteCount { return known <= start && known == byteCount ?? known }
            // Meanwhile, another reader may have asked farther on.
            guard state.hasRanges else { return true }
            state.byteCount = byteCount ?? (start == state.reach ? start : nil)
            state.hasRanges = state.byteCount != nil
            return true
        }
        guard isSame ?? true else { throw Self.changed }
        return isSame != nil
    }

    /// Checks that an answer has the beginning of the range that was asked for. It may begin before that, unless too
    /// many bytes would have to be kept, and end anywhere after it.
    private static func check(
        _ range: ContentRange?, of head: ResponseHead, asked: (start: Int64, end: Int64?)
    ) throws(BlobError) -> (Range<Int64>, byteCount: Int64?) {
        guard let range, let bytes = range.bytes else {
            throw BlobError(.corrupted, "The server answered 206 without a valid Content-Range.")
        }
        // A long range is not kept, but read as it comes.
        let keptEnd = asked.end.flatMap { $0 - asked.start > PreparedAnswers.maximumPieceByteCount ? nil : $0 }
        let end = min(bytes.upperBound, keptEnd ?? bytes.lowerBound)
        guard bytes.contains(asked.start), end - bytes.lowerBound <= RemoteBodyState.capacity else {
            throw BlobError(
                .corrupted,
                "The server answered with the bytes from \(bytes.lowerBound) to \(bytes.upperBound), and was asked for "
                    + "those from \(asked.start) to \(asked.end.map(String.init) ?? "the end").")
        }
        guard Self.byteCount(head) ?? Int64(bytes.count) == bytes.count else {
            throw BlobError(.corrupted, "Content-Length and Content-Range of the answer contradict each other.")
        }
        return (bytes, range.byteCount)
    }

    /// Takes the facts from the first answer, and compares the facts of later ones.
    ///
    /// - Parameter reach: The end of the range that the answer has.
    private func learn(
        _ head: ResponseHead, byteCount: Int64?, reach: Int64, hasRanges: Bool, from body: RemoteBody
    ) throws(BlobError) {
        let facts = RemoteFacts(
            head, byteCount: byteCount, hasRanges: hasRanges, name: self.requests.name(head),
            digests: self.requests.digests(head))
        var isIncomplete = false
        let isSame = self.state.withLock { state in
            let (whole, reach) = (state.byteCount ?? byteCount, max(state.reach, reach))
            guard (state.facts ?? state.incompleteFacts)?.isSameVersion(as: facts) ?? true, byteCount ?? whole == whole,
                reach <= whole ?? .max
            else { return false }
            (state.byteCount, state.reach) = (whole, reach)
            state.hasRanges = state.hasRanges && hasRanges
            if state.facts == nil, state.wantsDigests, state.incompleteFacts == nil {
                (state.incompleteFacts, state.first, isIncomplete) = (facts, body, true)
            } else {
                state.facts = state.facts ?? facts
            }
            return true
        }
        guard isSame else { throw Self.changed }
        guard isIncomplete else { return }
        // Readers wait for the head until its digests are complete.
        body.setHeld(true)
        self.requests.findDigests(of: facts.info, tag: facts.tag, self.search) { [weak self, weak body] in
            self?.complete($0)
            body?.setHeld(false)
        }
    }

    /// Completes the facts from the first answer.
    private func complete(_ digests: [StatedRange]) {
        self.state.withLock { state in
            guard var facts = state.incompleteFacts.take() else { return }
            facts.add(digests)
            (state.facts, state.first) = (facts, nil)
        }
        self.startPrepared()
    }

    private static var changed: BlobError {
        BlobError(.changed, "The server has other content now than when reading began.")
    }

    private func forgetFirst(_ body: RemoteBody) {
        self.state.withLock { state in if state.first === body, state.incompleteFacts == nil { state.first = nil } }
    }

    private func note(_ error: BlobError, of body: RemoteBody) {
        let isUnknown = self.state.withLock { state in
            // Bytes that are read again after a failure, to be compared, have to come from the server.
            let isStrong = state.facts?.info.validator?.isStrong ?? false
            state.bodies.removeAll { $0 === body || !isStrong }
            // An unread answer is requested again when its turn comes.
            let isKept = isStrong && body.hasBytes && (body.hasReaders || state.hasRanges && body.becomeShort())
            if !isKept { state.prepared.remove(body) }
            if error.code == .truncated, !body.hasBytes { state.hasCutAnswers = true }
            if state.first === body {
                (state.first, state.facts, state.incompleteFacts) = (nil, state.facts ?? state.incompleteFacts, nil)
            }
            return state.facts == nil
        }
        body.setHeld(false)
        if isUnknown || error.code == .changed { self.onEnd(self) }
    }
}
