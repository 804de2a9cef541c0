import BlobCore

extension RemoteVersion {
    /// Judges the head of an answer.
    ///
    /// One that cannot be used as a range is asked for once more without one: this type asked for the range, and not
    /// its user.
    func judge(_ body: RemoteBody, _ head: ResponseHead) throws(BlobError) -> RemoteBody.Judgement {
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
                if self.forgoRanges(for: body) { return .nothing }
                throw BlobError(.corrupted, "The server answered \(head.status) with a part of the object only.")
            }
            let byteCount = announced ?? range?.byteCount
            try self.learn(head, byteCount: byteCount, reach: 0, hasRanges: false)
            return .object(byteCount: byteCount)
        case 206:
            let (bytes, byteCount): (Range<Int64>, Int64?)
            do throws(BlobError) {
                (bytes, byteCount) = try Self.check(range, of: head, asked: body.wanted)
            } catch {
                if self.forgoRanges(for: body) { return .nothing }
                throw error
            }
            if !RemoteFacts(head, byteCount: byteCount, hasRanges: true, name: nil).canBeJoined,
                self.forgoRanges(for: body)
            {
                return .nothing
            }
            try self.learn(head, byteCount: byteCount, reach: bytes.upperBound, hasRanges: body.isRange)
            let isShort = bytes.upperBound < min(body.wanted.end ?? .max, byteCount ?? .max)
            if isShort { self.state.withLock { $0.hasShortAnswers = true } }
            return .range(bytes)
        case 416 where try self.meetsEnd(head, range?.byteCount, at: body.wanted.start): return .nothing
        case 412 where isKnown: throw Self.changed
        case 416 where !isKnown && range?.byteCount == 0:
            try self.learn(head, byteCount: 0, reach: 0, hasRanges: true)
            return .nothing
        case 416 where !isKnown && body.wanted.start > 0:
            self.state.withLock { $0.mustAskForStart = true }
            return .nothing
        // Some stores refuse any range of an empty object, and do not tell its length.
        case 416 where self.forgoRanges(for: body): return .nothing
        case 416 where isKnown: throw Self.changed
        default: return .explanation
        }
    }

    /// Returns the range that a head tells, nil when it tells none that is valid or two that differ, and whether it has
    /// the field.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for an encoding of the message that was not asked for.
    private static func range(_ head: ResponseHead) throws(BlobError) -> (range: ContentRange?, hasField: Bool) {
        let ranges = head.fields.filter { $0.name.lowercased() == "content-range" }.map(\.value)
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
    private func forgoRanges(for body: RemoteBody) -> Bool {
        self.state.withLock { $0.hasRanges = false }
        return body.isRange
    }

    /// Takes the refusal of a range for the end of an object whose length was unknown.
    ///
    /// - Parameter byteCount: The length that the refusal tells. Without one, a refusal behind the last byte that there
    ///   was means the end; one farther on means that the object has to be read up to its end.
    /// - Returns: False when the first answer told the length, or was no range.
    private func meetsEnd(
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
    /// many bytes would have to be kept, and end anywhere behind it.
    private static func check(
        _ range: ContentRange?, of head: ResponseHead, asked: (start: Int64, end: Int64?)
    ) throws(BlobError) -> (Range<Int64>, byteCount: Int64?) {
        guard let range, let bytes = range.bytes else {
            throw BlobError(.corrupted, "The server answered 206 without a valid Content-Range.")
        }
        let end = min(bytes.upperBound, asked.end ?? bytes.lowerBound)
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

    /// Takes the facts from the first answer, and compares those of later ones.
    ///
    /// - Parameter reach: The end of the range that the answer has.
    private func learn(
        _ head: ResponseHead, byteCount: Int64?, reach: Int64, hasRanges: Bool
    ) throws(BlobError) {
        let facts = RemoteFacts(head, byteCount: byteCount, hasRanges: hasRanges, name: self.requests.name(head))
        let isSame = self.state.withLock { state in
            let (whole, reach) = (state.byteCount ?? byteCount, max(state.reach, reach))
            guard state.facts?.isSameVersion(as: facts) ?? true, byteCount ?? whole == whole, reach <= whole ?? .max
            else { return false }
            (state.facts, state.byteCount, state.reach) = (state.facts ?? facts, whole, reach)
            state.hasRanges = state.hasRanges && hasRanges
            return true
        }
        guard isSame else { throw Self.changed }
    }

    private static var changed: BlobError {
        BlobError(.changed, "The server has other content now than when reading began.")
    }

    private func forgetFirst(_ body: RemoteBody) {
        self.state.withLock { state in if state.first === body { state.first = nil } }
    }

    func note(_ error: BlobError, of body: RemoteBody) {
        let isUnknown = self.state.withLock { state in
            // Bytes that are read again after a failure, to be compared, have to come from the server.
            let isStrong = state.facts?.info.validator?.isStrong ?? false
            state.bodies.removeAll { $0 === body || !isStrong }
            if state.first === body { state.first = nil }
            return state.facts == nil
        }
        if isUnknown || error.code == .changed { self.onEnd(self) }
    }
}
