import BlobCore

/// One version of an object: its facts, and the answers that are kept for its readers.
final class RemoteVersion: Sendable {
    /// The stages of a reader, which decide how many bytes its next request asks for.
    enum Progress {
        case beginning
        /// It has read one answer, from an offset in the object.
        case wentOn
        /// It reads on: all the rest is asked for.
        case reading
    }

    struct State {
        var facts: RemoteFacts?
        /// The length of the object, once an answer told it or its end was met.
        var byteCount: Int64?
        /// The end of the range that reaches farthest of those that the server has sent.
        var reach: Int64 = 0
        /// False once an answer was not the range that was asked for.
        var hasRanges = true
        /// True once an answer was the beginning of the range that was asked for.
        var hasShortAnswers = false
        /// True when the server refused a range before anything was known of the object.
        var mustAskForStart = false
        /// The request under way whose answer will tell the facts.
        var first: RemoteBody?
        /// The answers that are kept, the one used last at the end.
        var bodies: [RemoteBody] = []
    }

    /// The bytes that are asked for at once, at least: those of one block of a cache.
    private static let windowByteCount = Int64(ByteBlocks.blockByteCount)
    /// The distance to the end of the object within which all the rest is asked for: the directory of an archive.
    private static let tailByteCount: Int64 = 1 << 20
    /// The bytes that are asked for at once when reading goes on behind the first window.
    private static let secondWindowByteCount: Int64 = 1 << 20

    let requests: any RemoteRequests
    private let relocation = Relocation()
    private let cacheByteCount: Int64
    let onEnd: @Sendable (RemoteVersion) -> Void
    let state = Locked(State())

    /// - Parameter onEnd: Called when the object has another version, or when there are no facts to be had.
    init(
        _ requests: any RemoteRequests, cacheByteCount: Int64, onEnd: @escaping @Sendable (RemoteVersion) -> Void
    ) {
        (self.requests, self.cacheByteCount, self.onEnd) = (requests, cacheByteCount, onEnd)
    }

    deinit { for body in self.state.withLock({ $0.bodies }) { body.cancel() } }

    /// The info of the version; nil until an answer has told it.
    var info: BlobInfo? { self.state.withLock { $0.facts?.info } }

    /// The length of the object; nil as long as no answer told it and its end was not met.
    var byteCount: Int64? { self.state.withLock { $0.byteCount } }

    /// Returns the answer with the bytes from an offset, or the one that will tell the facts; makes a request for it
    /// when there is none.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset in the object.
    ///   - byteCount: The number of bytes that a reader is known to need.
    ///   - progress: What the reader has done before.
    ///   - idleLimit: The longest time without activity on the connection; nil is the default.
    /// - Returns: The answer, and true if it is a stream for this reader; nil at the end of the object.
    func body(
        at byteOffset: Int64, atLeast byteCount: Int, _ progress: Progress, idleLimit: Duration?
    ) -> (body: RemoteBody, isOwner: Bool)? {
        let found = self.state.withLock { state -> (body: RemoteBody, isNew: Bool, isOwner: Bool)? in
            if state.facts == nil, let first = state.first { return (first, false, false) }
            if let end = state.byteCount, byteOffset >= end { return nil }
            if let index = state.bodies.lastIndex(where: { $0.serves(byteOffset) }) {
                state.bodies.append(state.bodies.remove(at: index))
                return (state.bodies[state.bodies.count - 1], false, false)
            }
            let isStream = progress == .reading || !state.hasRanges
            let body = self.makeBody(self.range(at: byteOffset, byteCount, progress, state), isStream)
            if state.facts == nil { state.first = body }
            if !isStream { self.keep(body, &state) }
            return (body, true, isStream)
        }
        guard let found else { return nil }
        if found.isNew { found.body.start(self.fields(for: found.body), idleLimit: idleLimit) }
        return (found.body, found.isOwner)
    }

    /// Gives up an answer to its reader, or one that failed.
    func release(_ body: RemoteBody) { self.state.withLock { $0.bodies.removeAll { $0 === body } } }

    // MARK: Requests

    private func makeBody(_ range: (Int64, Int64?), _ isStream: Bool) -> RemoteBody {
        RemoteBody(range, isStream: isStream, self.requests, self.relocation) {
            [weak self] body, head throws(BlobError) in
            guard let self else { throw BlobError(.cancelled, "The object is not read any more.") }
            return try self.judge(body, head)
        } onFailure: { [weak self] body, error in
            self?.note(error, of: body)
        }
    }

    private func range(
        at byteOffset: Int64, _ byteCount: Int, _ progress: Progress, _ state: State
    ) -> (Int64, Int64?) {
        guard state.hasRanges else { return (0, nil) }
        guard progress != .reading else { return (byteOffset, nil) }
        guard !state.mustAskForStart || state.facts != nil else { return (0, Self.windowByteCount) }
        let least = progress == .wentOn ? Self.secondWindowByteCount : Self.windowByteCount
        let wanted = min(max(Int64(byteCount), least), Self.secondWindowByteCount)
        // Whole blocks, so that neighbours neither overlap nor leave gaps.
        let blockStart = byteOffset / Self.windowByteCount * Self.windowByteCount
        let start = state.hasShortAnswers ? byteOffset : blockStart
        let (sum, overflows) = byteOffset.addingReportingOverflow(wanted + Self.windowByteCount - 1)
        var end = overflows ? .max : sum / Self.windowByteCount * Self.windowByteCount
        if let whole = state.byteCount {
            end = whole - byteOffset <= Self.tailByteCount ? whole : min(end, whole)
        }
        let next = state.bodies.map(\.wanted.start).filter { $0 > byteOffset && $0 < end }.min()
        return (start, next ?? end)
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
}
