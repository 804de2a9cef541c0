import BlobCore

/// One version of an object: its facts, and the responses cached for its readers.
final class RemoteVersion: Sendable {
    /// The stages of a reader, which determine how many bytes its next request covers.
    enum Progress {
        case beginning
        /// The reader has read one response, from an offset in the object.
        case continued
        /// The reader continues, so the whole rest is requested.
        case reading
        /// The reader reads one part while others read the other parts, so a single request is enough.
        case readingPart
    }

    private struct State {
        var facts: RemoteFacts?
        /// The facts from the first response, while further requests look for digests.
        var incompleteFacts: RemoteFacts?
        /// True if a reader probably reads the whole object and compares its digests.
        var wantsDigests = false
        /// The length of the object, once a response has stated it or the end was reached.
        var byteCount: Int64?
        /// The end of the farthest range that the server has sent.
        var reachedOffset: Int64 = 0
        /// False once a response to a range request did not match the requested range.
        var hasRanges = true
        /// True once a response contained only the beginning of the requested range.
        var hasShortAnswers = false
        /// True once a response was cut off before its bytes could be read. Later requests then cover smaller ranges.
        var hasCutAnswers = false
        /// True if the server refused a range before any facts were known.
        var mustAskForStart = false
        /// The request in progress whose response will state the facts.
        var firstBody: RemoteBody?
        /// The cached responses, ordered by use with the most recent last.
        var bodies: [RemoteBody] = []
        /// The responses requested ahead.
        var preparedAnswers = PreparedAnswers()
        /// The memory of the response that was read last.
        var spares: [Window] = []
        /// The job for which responses are requested ahead.
        var job = RequestJob()
    }

    /// The minimum number of bytes to request: one block of a cache.
    private static let windowByteCount = Int64(ByteBlocks.blockByteCount)
    /// The distance to the end of the object within which the whole rest is requested, such as an archive's directory.
    private static let tailByteCount: Int64 = 1 << 20
    /// The number of bytes to request when reading continues after the first window.
    private static let secondWindowByteCount: Int64 = 1 << 20

    /// The minimum length of a rest to request in pieces over several connections.
    private static let splitByteCount: Int64 = 8 << 20

    private let requests: any RemoteRequests
    private let relocation = Relocation()
    private let search = BlobCancellation()
    private let cacheByteCount: Int64
    private let onEnd: @Sendable (RemoteVersion) -> Void
    private let state = Locked(State())

    /// - Parameter onEnd: Called if the object has a different version or the facts cannot be obtained.
    init(
        _ requests: any RemoteRequests, cacheByteCount: Int64, onEnd: @escaping @Sendable (RemoteVersion) -> Void
    ) {
        (self.requests, self.cacheByteCount, self.onEnd) = (requests, cacheByteCount, onEnd)
    }

    deinit {
        self.search.cancel()
        for body in self.state.withLock({ $0.bodies + $0.preparedAnswers.bodies }) { body.cancel() }
    }

    /// The info of the version; nil until a response has stated it.
    var info: BlobInfo? { self.facts?.info }

    /// The facts of the version; nil until a response has stated them.
    var facts: RemoteFacts? { self.state.withLock { $0.facts } }

    /// The length of the object; nil until a response has stated it or the end has been reached.
    var byteCount: Int64? { self.state.withLock { $0.byteCount } }

    /// Returns the response with the bytes from an offset, or the response that will state the facts.
    ///
    /// Makes a request if no such response exists.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset in the object.
    ///   - byteCount: The number of bytes that a reader is known to need.
    ///   - progress: The stage of the reader.
    ///   - planned: The end of the pieces requested ahead for the reader.
    ///   - job: The job of the reader.
    /// - Returns: The response, true if it is a stream for this reader, and true if its request was made now; nil at
    ///   the end of the object.
    func body(
        at byteOffset: Int64, atLeast byteCount: Int, _ progress: Progress, planned: inout Int64, for job: RequestJob
    ) -> (body: RemoteBody, isOwner: Bool, isNew: Bool)? {
        for body in self.state.withLock({ $0.preparedAnswers.removeStale() }) { body.cancel() }
        if progress == .reading {
            self.state.withLock { state in
                guard let end = state.byteCount, state.hasRanges, end - byteOffset >= Self.splitByteCount,
                    state.facts?.info.validator?.isStrong == true
                else { return }
                state.preparedAnswers.plan(after: byteOffset, to: end, planned: &planned)
                state.job = job
            }
            self.startPrepared()
        }
        let found = self.state.withLock { state -> (body: RemoteBody, isNew: Bool, isOwner: Bool)? in
            if state.facts == nil, let first = state.firstBody { return (first, false, false) }
            if let end = state.byteCount, byteOffset >= end { return nil }
            if let body = state.preparedAnswers.body(at: byteOffset) { return (body, false, false) }
            if let index = state.bodies.lastIndex(where: { $0.serves(byteOffset) }) {
                state.bodies.append(state.bodies.remove(at: index))
                return (state.bodies[state.bodies.count - 1], false, false)
            }
            let isStream = progress == .reading || progress == .readingPart || !state.hasRanges
            let body = self.makeBody(self.range(at: byteOffset, byteCount, progress, state), isStream)
            if state.facts == nil {
                (state.firstBody, state.wantsDigests) = (body, state.wantsDigests || byteOffset == 0)
            }
            if !isStream { self.keep(body, &state) }
            return (body, true, isStream)
        }
        guard let found else { return nil }
        if found.isNew { found.body.start(self.fields(for: found.body), job) }
        return (found.body, found.isOwner, found.isNew)
    }

    /// The scheme of the object's locator.
    var scheme: String { self.requests.scheme }

    /// Discards the version, because its bytes do not match the server's digests.
    func forget() { self.onEnd(self) }

    /// Requests the ranges that will be read next: as many as fit now, and the rest later.
    ///
    /// - Parameter arePieces: False to request each range as a whole, regardless of its length.
    func prepare(_ ranges: [Range<Int64>], arePieces: Bool, for job: RequestJob) {
        self.state.withLock { state in
            guard state.hasRanges else { return }
            let missing = ranges.filter { range in
                !state.bodies.contains { $0.serves(range.lowerBound) && $0.serves(range.upperBound - 1) }
            }
            state.preparedAnswers.plan(missing, within: state.byteCount, arePieces: arePieces)
            state.wantsDigests = state.wantsDigests || ranges.contains { $0.lowerBound == 0 }
            state.job = job
        }
        self.startPrepared()
    }

    private func startPrepared() {
        while let (body, job) = self.state.withLock({ state -> (RemoteBody, RequestJob)? in
            guard state.hasRanges else {
                state.preparedAnswers.removePlans()
                return nil
            }
            // The first response shows whether the server supports ranges.
            guard state.facts != nil || state.firstBody == nil, let plan = state.preparedAnswers.next() else {
                return nil
            }
            let spares = state.spares
            state.spares = []
            let body = self.makeBody((plan.range.lowerBound, plan.range.upperBound), false, spares)
            state.preparedAnswers.add(body, for: plan)
            if state.facts == nil { state.firstBody = body }
            return (body, state.job)
        }) { body.start(self.fields(for: body), job) }
    }

    /// Called after a reader has read bytes of a response from an offset, when it leaves the response.
    func didRead(_ body: RemoteBody, from byteOffset: Int64) {
        self.state.withLock { state in
            guard state.preparedAnswers.didRead(body, from: byteOffset) else { return }
            // A short response may be read again.
            if body.plannedByteCount <= Self.tailByteCount {
                self.keep(body, &state)
            } else if state.spares.isEmpty {
                state.spares = body.takeSpares()
            }
        }
        self.startPrepared()
    }

    /// Cancels the ranges requested ahead for a reader that leaves.
    func cancel(_ range: Range<Int64>) {
        for body in self.state.withLock({ $0.preparedAnswers.cancel(range) }) { body.cancel() }
    }

    /// Stops caching a response, so that only its current reader uses it.
    func release(_ body: RemoteBody) { self.state.withLock { $0.bodies.removeAll { $0 === body } } }

    // MARK: Requests

    private func makeBody(_ range: (Int64, Int64?), _ isStream: Bool, _ spares: [Window] = []) -> RemoteBody {
        RemoteBody(range, isStream: isStream, spares: spares, self.requests, self.relocation) {
            [weak self] body, head throws(BlobError) in
            guard let self else { throw BlobError(.cancelled, "The object is no longer being read.") }
            defer { self.startPrepared() }
            return try self.classify(body, head)
        } onEnd: { [weak self] body, error in
            if let error { self?.recordFailure(error, of: body) }
            self?.startPrepared()
        }
    }

    private func range(
        at byteOffset: Int64, _ byteCount: Int, _ progress: Progress, _ state: State
    ) -> (Int64, Int64?) {
        guard state.hasRanges else { return (0, nil) }
        func next(before end: Int64) -> Int64? {
            (state.bodies + state.preparedAnswers.bodies).map(\.wantedRange.start).filter {
                $0 > byteOffset && $0 < end
            }.min()
        }
        guard progress != .reading, progress != .readingPart else { return (byteOffset, next(before: .max)) }
        guard !state.mustAskForStart || state.facts != nil else { return (0, Self.windowByteCount) }
        guard !state.hasCutAnswers else {
            return (byteOffset, next(before: byteOffset + Self.windowByteCount) ?? byteOffset + Self.windowByteCount)
        }
        let least = progress == .continued ? Self.secondWindowByteCount : Self.windowByteCount
        let wanted = min(max(Int64(byteCount), least), Self.secondWindowByteCount)
        // Whole blocks, so that neighbouring ranges neither overlap nor leave gaps.
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
        let last = body.wantedRange.end.map { String($0 - 1) } ?? ""
        let range = BlobHTTPField("Range", "bytes=\(body.wantedRange.start)-\(last)")
        let name = self.requests.conditionField
        // Only a strong tag can match `If-Match`.
        guard let condition, name == "If-Range" || condition.hasPrefix("\"") else { return [range] }
        return [range, BlobHTTPField(name, condition)]
    }

    /// Caches a response; if there are too many bytes, discards the least recently used responses.
    private func keep(_ body: RemoteBody, _ state: inout State) {
        state.bodies.append(body)
        var byteCount = state.bodies.reduce(0) { $0 + $1.plannedByteCount }
        while byteCount > self.cacheByteCount, state.bodies.count > 1 {
            byteCount -= state.bodies.removeFirst().plannedByteCount
        }
    }

    /// Classifies a response by its head.
    ///
    /// If a response cannot be used as a range, the object is requested once more without a range, because this type,
    /// rather than its user, chose the range.
    private func classify(_ body: RemoteBody, _ head: ResponseHead) throws(BlobError) -> RemoteBody.AnswerKind {
        defer { self.forgetFirst(body) }
        let isKnown = self.info != nil
        let (range, hasField) = try Self.range(head)
        switch head.status {
        case 200, 203:
            let announced = Self.byteCount(head)
            // Some servers send parts this way, but RFC 9110, section 14.4, does not define the field here.
            let isWhole =
                range.map { $0.isWhole && announced ?? $0.byteCount == $0.byteCount } ?? !(hasField && body.isRange)
            guard isWhole else {
                if self.disableRanges(for: body) { return .nothing }
                throw BlobError(.corrupted, "The server answered \(head.status) with only a part of the object.")
            }
            let byteCount = announced ?? range?.byteCount
            try self.updateFacts(head, byteCount: byteCount, reach: 0, hasRanges: false, from: body)
            return .object(byteCount: byteCount)
        case 206:
            let (bytes, byteCount): (Range<Int64>, Int64?)
            do throws(BlobError) {
                (bytes, byteCount) = try Self.check(range, of: head, asked: body.wantedRange)
            } catch {
                if self.disableRanges(for: body) { return .nothing }
                throw error
            }
            if !RemoteFacts(head, byteCount: byteCount, hasRanges: true).canBeJoined,
                self.disableRanges(for: body)
            {
                return .nothing
            }
            try self.updateFacts(
                head, byteCount: byteCount, reach: bytes.upperBound, hasRanges: body.isRange, from: body)
            let isShort = bytes.upperBound < min(body.wantedRange.end ?? .max, byteCount ?? .max)
            if isShort { self.state.withLock { $0.hasShortAnswers = true } }
            return .range(bytes)
        case 416 where try self.treatsAsEnd(head, range?.byteCount, at: body.wantedRange.start): return .nothing
        case 412 where isKnown: throw Self.changedError
        case 416 where !isKnown && range?.byteCount == 0:
            try self.updateFacts(head, byteCount: 0, reach: 0, hasRanges: true, from: body)
            return .nothing
        case 416 where !isKnown && body.wantedRange.start > 0:
            self.state.withLock { $0.mustAskForStart = true }
            return .nothing
        // Some stores refuse any range of an empty object and do not state its length.
        case 416 where self.disableRanges(for: body): return .nothing
        case 416 where isKnown: throw Self.changedError
        default: return .explanation
        }
    }

    /// Returns the range in a head, or nil if it contains no valid range or two different ones, and whether the field
    /// is present.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for a transfer encoding that was not requested.
    private static func range(_ head: ResponseHead) throws(BlobError) -> (range: ContentRange?, hasField: Bool) {
        let ranges = head.values(of: "content-range")
        let encoding = head.value(of: "transfer-encoding")?.lowercased() ?? "chunked"
        guard ["chunked", "identity"].contains(encoding) else {
            throw BlobError(
                .unsupported, "The server uses the Transfer-Encoding '\(encoding)', which is not supported.")
        }
        let isOne = ranges.allSatisfy { $0 == ranges.first }
        return (isOne ? ranges.first.flatMap(ContentRange.init) : nil, !ranges.isEmpty)
    }

    /// The announced length of the body in bytes; nil if none was announced.
    private static func byteCount(_ head: ResponseHead) -> Int64? {
        head.value(of: "transfer-encoding") == nil ? head.contentLength : nil
    }

    /// Makes all later requests without ranges; returns false if the request for this body had no range.
    private func disableRanges(for body: RemoteBody) -> Bool {
        self.state.withLock { $0.hasRanges = false }
        return body.isRange
    }

    /// Interprets the refusal of a range as the end of an object whose length was unknown.
    ///
    /// - Parameter byteCount: The length that the refusal states. Without a length, a refusal directly after the last
    ///   received byte means the end of the object. Without a length, a refusal farther on means that the object must
    ///   be read to its end.
    /// - Returns: False if the first response stated the length or was not a range.
    private func treatsAsEnd(
        _ head: ResponseHead, _ byteCount: Int64?, at start: Int64
    ) throws(BlobError) -> Bool {
        let isSame = self.state.withLock { state -> Bool? in
            guard let facts = state.facts, facts.info.byteCount == nil, facts.info.isRandomAccess else { return nil }
            if let tag = head.value(of: "etag"), let known = facts.tag, tag != known { return false }
            guard state.reachedOffset <= byteCount ?? start, byteCount ?? start <= start else { return false }
            if let known = state.byteCount { return known <= start && known == byteCount ?? known }
            // Another reader may have requested a farther range in the meantime.
            guard state.hasRanges else { return true }
            state.byteCount = byteCount ?? (start == state.reachedOffset ? start : nil)
            state.hasRanges = state.byteCount != nil
            return true
        }
        guard isSame ?? true else { throw Self.changedError }
        return isSame != nil
    }

    /// Checks that a response contains the beginning of the requested range.
    ///
    /// The response may begin earlier, unless too many bytes would have to be held in memory, and end anywhere later.
    private static func check(
        _ range: ContentRange?, of head: ResponseHead, asked: (start: Int64, end: Int64?)
    ) throws(BlobError) -> (Range<Int64>, byteCount: Int64?) {
        guard let range, let bytes = range.bytes else {
            throw BlobError(.corrupted, "The server answered 206 without a valid Content-Range.")
        }
        // A long range is streamed rather than held in memory.
        let keptEnd = asked.end.flatMap { $0 - asked.start > PreparedAnswers.maximumPieceByteCount ? nil : $0 }
        let end = min(bytes.upperBound, keptEnd ?? bytes.lowerBound)
        guard bytes.contains(asked.start), end - bytes.lowerBound <= RemoteBodyState.capacity else {
            throw BlobError(
                .corrupted,
                "The server returned the bytes from \(bytes.lowerBound) to \(bytes.upperBound), but the bytes from "
                    + "\(asked.start) to \(asked.end.map(String.init) ?? "the end") were requested.")
        }
        guard Self.byteCount(head) ?? Int64(bytes.count) == bytes.count else {
            throw BlobError(.corrupted, "The Content-Length and Content-Range of the response contradict each other.")
        }
        return (bytes, range.byteCount)
    }

    /// Stores the facts from the first response, and compares the facts from later responses with them.
    ///
    /// - Parameter reach: The end of the range in the response.
    private func updateFacts(
        _ head: ResponseHead, byteCount: Int64?, reach: Int64, hasRanges: Bool, from body: RemoteBody
    ) throws(BlobError) {
        let facts = RemoteFacts(
            head, byteCount: byteCount, hasRanges: hasRanges, name: self.requests.name(head),
            digests: self.requests.digests(head))
        var isIncomplete = false
        let isSame = self.state.withLock { state in
            let (whole, reach) = (state.byteCount ?? byteCount, max(state.reachedOffset, reach))
            guard (state.facts ?? state.incompleteFacts)?.isSameVersion(as: facts) ?? true, byteCount ?? whole == whole,
                reach <= whole ?? .max
            else { return false }
            (state.byteCount, state.reachedOffset) = (whole, reach)
            state.hasRanges = state.hasRanges && hasRanges
            if state.facts == nil, state.wantsDigests, state.incompleteFacts == nil {
                (state.incompleteFacts, state.firstBody, isIncomplete) = (facts, body, true)
            } else {
                state.facts = state.facts ?? facts
            }
            return true
        }
        guard isSame else { throw Self.changedError }
        guard isIncomplete else { return }
        // Until the digests are complete, readers wait as they do for the head.
        body.setHeld(true)
        self.requests.findDigests(of: facts.info, tag: facts.tag, self.search) { [weak self, weak body] in
            self?.completeFacts(with: $0)
            body?.setHeld(false)
        }
    }

    /// Completes the facts from the first response.
    private func completeFacts(with digests: [StatedRange]) {
        self.state.withLock { state in
            guard var facts = state.incompleteFacts.take() else { return }
            facts.add(digests)
            (state.facts, state.firstBody) = (facts, nil)
        }
        self.startPrepared()
    }

    private static var changedError: BlobError {
        BlobError(.changed, "The content on the server has changed since reading began.")
    }

    private func forgetFirst(_ body: RemoteBody) {
        self.state.withLock { state in
            if state.firstBody === body, state.incompleteFacts == nil { state.firstBody = nil }
        }
    }

    private func recordFailure(_ error: BlobError, of body: RemoteBody) {
        let isUnknown = self.state.withLock { state in
            // Bytes that are read again after a failure, for comparison, must come from the server.
            let isStrong = state.facts?.info.validator?.isStrong ?? false
            state.bodies.removeAll { $0 === body || !isStrong }
            // An unread response will be requested again when its turn comes.
            let isKept = isStrong && body.hasBytes && (body.hasReaders || state.hasRanges && body.becomeShort())
            if !isKept { state.preparedAnswers.remove(body) }
            if error.code == .truncated, !body.hasBytes { state.hasCutAnswers = true }
            if state.firstBody === body {
                (state.firstBody, state.facts, state.incompleteFacts) = (nil, state.facts ?? state.incompleteFacts, nil)
            }
            return state.facts == nil
        }
        body.setHeld(false)
        if isUnknown || error.code == .changed { self.onEnd(self) }
    }
}
