import BlobCore

extension RemoteVersion {
    /// Judges the head of an answer.
    func judge(_ body: RemoteBody, _ head: ResponseHead) throws(BlobError) -> RemoteBody.Judgement {
        defer { self.forgetFirst(body) }
        let isKnown = self.info != nil
        let range = try Self.range(head)
        switch head.status {
        case 200, 203:
            let byteCount = head.value(of: "transfer-encoding") == nil ? head.contentLength : nil
            try self.learn(head, byteCount: byteCount, reach: 0, hasRanges: false)
            return .object(byteCount: byteCount)
        case 206:
            let (bytes, byteCount) = try Self.check(range, of: head, asked: body.wanted)
            try self.learn(head, byteCount: byteCount, reach: bytes.upperBound, hasRanges: true)
            let isShort = bytes.upperBound < min(body.wanted.end ?? .max, byteCount ?? .max)
            if isShort { self.state.withLock { $0.hasShortAnswers = true } }
            return .range(start: bytes.lowerBound, end: bytes.upperBound)
        case 416 where try self.meetsEnd(head, range?.byteCount, at: body.wanted.start): return .nothing
        case 412 where isKnown, 416 where isKnown: throw Self.changed
        case 416 where range?.byteCount == 0:
            try self.learn(head, byteCount: 0, reach: 0, hasRanges: true)
            return .nothing
        case 416 where body.wanted.start > 0:
            self.state.withLock { $0.mustAskForStart = true }
            return .nothing
        // Some stores refuse any range of an empty object, and do not tell its length.
        case 416 where self.forgoRanges(): return .nothing
        default: return .explanation
        }
    }

    /// Returns the range that a head tells; nil when it tells none that is valid.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for two that differ, ``BlobError/Code/unsupported`` for an encoding of
    ///   the message that was not asked for.
    private static func range(_ head: ResponseHead) throws(BlobError) -> ContentRange? {
        let ranges = head.fields.filter { $0.name.lowercased() == "content-range" }.map(\.value)
        guard ranges.allSatisfy({ $0 == ranges.first }) else {
            throw BlobError(.corrupted, "The Content-Range fields of the answer contradict each other.")
        }
        let encoding = head.value(of: "transfer-encoding")?.lowercased() ?? "chunked"
        guard ["chunked", "identity"].contains(encoding) else {
            throw BlobError(.unsupported, "The server answered with the Transfer-Encoding '\(encoding)'.")
        }
        return ranges.first.flatMap(ContentRange.init)
    }

    /// Asks without ranges from now on; returns false when that is done already.
    private func forgoRanges() -> Bool {
        self.state.withLock { state in
            defer { state.hasRanges = false }
            return state.hasRanges
        }
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

    /// Checks that an answer is the range that was asked for, or the beginning of it.
    private static func check(
        _ range: ContentRange?, of head: ResponseHead, asked: (start: Int64, end: Int64?)
    ) throws(BlobError) -> (Range<Int64>, byteCount: Int64?) {
        guard let range, let bytes = range.bytes else {
            throw BlobError(.corrupted, "The server answered 206 without a valid Content-Range.")
        }
        guard bytes.lowerBound == asked.start, bytes.upperBound <= asked.end ?? .max else {
            throw BlobError(
                .corrupted,
                "The server answered with the bytes from \(bytes.lowerBound) to \(bytes.upperBound), and was asked for "
                    + "those from \(asked.start) to \(asked.end.map(String.init) ?? "the end").")
        }
        let announced = head.value(of: "transfer-encoding") == nil ? head.contentLength : nil
        guard announced ?? Int64(bytes.count) == bytes.count else {
            throw BlobError(.corrupted, "Content-Length and Content-Range of the answer contradict each other.")
        }
        let encoding = head.value(of: "content-encoding")?.lowercased() ?? "identity"
        guard encoding == "identity" else {
            throw BlobError(
                .unsupported,
                "The object has the Content-Encoding '\(encoding)', of which no ranges are read: store it without that "
                    + "field, and name the decoder in the locator, as in gzip+LOCATOR.")
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
