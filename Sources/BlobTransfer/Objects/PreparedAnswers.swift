import BlobCore

/// The responses that are requested before they are read, and the ranges waiting to be requested.
struct PreparedAnswers {
    /// A range to request.
    struct Plan {
        private(set) var range: Range<Int64>
        /// The position of the range's first read in the order of all reads.
        private(set) var position: Int
        /// The offsets at which the expected reads of the range begin.
        private(set) var starts: [Int64]

        fileprivate init(range: Range<Int64>, position: Int, starts: [Int64]) {
            (self.range, self.position, self.starts) = (range, position, starts)
        }

        /// True for a range that is streamed rather than held in memory completely.
        fileprivate var isLong: Bool { self.range.count > PreparedAnswers.maximumPieceByteCount }

        /// The number of bytes of the response that may be kept in memory.
        fileprivate var byteCount: Int64 {
            self.isLong ? Int64(RemoteBodyState.streamCapacity) : Int64(self.range.count)
        }

        /// Adds a range that does not begin earlier; returns false if the range needs a request of its own.
        fileprivate mutating func add(_ range: Range<Int64>, _ position: Int) -> Bool {
            let end = max(self.range.upperBound, range.upperBound)
            guard range.lowerBound - self.range.upperBound <= PreparedAnswers.maximumGap,
                end - self.range.lowerBound <= PreparedAnswers.maximumPieceByteCount,
                abs(position - self.position) <= PreparedAnswers.maximumDistance
            else { return false }
            self.range = self.range.lowerBound..<end
            self.position = min(position, self.position)
            self.starts.append(range.lowerBound)
            return true
        }

        /// Removes the read that contains an offset; returns true if it was the last one.
        fileprivate mutating func finishRead(at byteOffset: Int64) -> Bool {
            if let index = self.starts.lastIndex(where: { $0 <= byteOffset }) { self.starts.remove(at: index) }
            return self.starts.isEmpty
        }
    }

    private struct PreparedBody {
        let body: RemoteBody
        var plan: Plan
        let preparationTime: CompactInstant

        /// The bytes that the response contains or will contain.
        var range: Range<Int64> {
            self.plan.range.lowerBound..<(self.body.failedEndOffset ?? self.plan.range.upperBound)
        }

        var byteCount: Int64 { self.plan.isLong ? self.plan.byteCount : self.body.plannedByteCount }
    }

    /// The maximum number of concurrent requests.
    private static let maximumRequestCount = 64
    /// The maximum number of unread bytes in all responses.
    private static let maximumByteCount: Int64 = 16 << 20
    /// The maximum length of a range that is requested as a whole and held in memory completely.
    static let maximumPieceByteCount: Int64 = 2 << 20
    /// The maximum number of concurrently requested pieces of a long range, including the piece being read.
    private static let maximumPieceCount: Int64 = 4
    /// The gap between two ranges that costs less than a request, a sixth of a millisecond at 100 MB/s.
    private static let maximumGap: Int64 = 16 * 1024
    /// The maximum distance, in reading order, of ranges that share a request; their bytes are held in memory until all
    /// are read.
    private static let maximumDistance = 16
    /// The age at which a response without readers is removed to make room for others.
    private static let maximumIdleTime = Duration.seconds(30)
    /// The age at which a response that waits for free memory is requested again, because its server may have timed
    /// out.
    private static let maximumPauseTime = Duration.seconds(5)

    private var plans = Fifo<Plan>()
    private var preparedBodies: [PreparedBody] = []

    var bodies: [RemoteBody] { self.preparedBodies.map(\.body) }

    /// Returns the response that extends farthest from an offset; nil if no response contains the byte at the offset.
    func body(at byteOffset: Int64) -> RemoteBody? {
        self.preparedBodies.filter { $0.body.serves(byteOffset) }.max {
            $0.plan.range.upperBound < $1.plan.range.upperBound
        }?
        .body
    }

    /// Plans the requests for ranges that will be read in this order. Neighbouring ranges share a request.
    ///
    /// - Parameter arePieces: False to make one request per range, regardless of its length.
    mutating func plan(_ ranges: [Range<Int64>], within byteCount: Int64?, arePieces: Bool) {
        guard arePieces else {
            for range in ranges { self.plans.append(Plan(range: range, position: 0, starts: [range.lowerBound])) }
            return
        }
        var plans: [Plan] = []
        let inside = ranges.map { range in
            let range = range.clamped(to: 0..<(byteCount ?? .max))
            // The rest of a long range is requested while the range is read.
            return range.lowerBound..<range.lowerBound + min(Int64(range.count), Self.maximumByteCount)
        }
        for (position, range) in inside.enumerated().sorted(by: { $0.element.lowerBound < $1.element.lowerBound })
        where !range.isEmpty {
            if let last = plans.indices.last, plans[last].add(range, position) { continue }
            for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(Self.maximumPieceByteCount)) {
                let end = min(start + Self.maximumPieceByteCount, range.upperBound)
                plans.append(Plan(range: start..<end, position: position, starts: [start]))
            }
        }
        for plan in plans.sorted(by: { $0.position < $1.position }) { self.plans.append(plan) }
    }

    /// Plans the pieces after an offset for a reader that reads to the end.
    ///
    /// - Parameter planned: The end of the pieces already planned for this reader.
    mutating func plan(after byteOffset: Int64, to end: Int64, planned: inout Int64) {
        planned = max(planned, byteOffset)
        let farthest = min(end, byteOffset + Self.maximumPieceCount * Self.maximumPieceByteCount)
        let known = self.plans.all.map(\.range) + self.preparedBodies.map(\.range)
        while planned < farthest {
            if let range = known.first(where: { $0.contains(planned) }) {
                planned = range.upperBound
                continue
            }
            let next = known.map(\.lowerBound).filter { $0 > planned }.min() ?? end
            let piece = planned..<min(planned + Self.maximumPieceByteCount, next, end)
            self.plans.append(Plan(range: piece, position: 0, starts: [planned]))
            planned = piece.upperBound
        }
    }

    /// Removes and returns the responses to cancel: those that have no readers and begin in a range that will not be
    /// read.
    mutating func cancel(_ range: Range<Int64>) -> [RemoteBody] {
        let isUnread = { (plan: Plan) in range.contains(plan.range.lowerBound) }
        let kept = self.plans.all.filter { !isUnread($0) }
        self.plans = Fifo()
        for plan in kept { self.plans.append(plan) }
        let unread = self.preparedBodies.filter { isUnread($0.plan) && !$0.body.hasReaders }.map(\.body)
        self.preparedBodies.removeAll { prepared in unread.contains { $0 === prepared.body } }
        return unread
    }

    /// Removes and returns the responses to cancel because they have waited too long for free memory.
    mutating func removeStale(at now: CompactInstant = .now) -> [RemoteBody] {
        let stale = self.preparedBodies.filter { prepared in
            prepared.body.isPaused && !prepared.body.hasReaders
                && prepared.preparationTime + Self.maximumPauseTime < now
        }.map(\.body)
        for body in stale { self.remove(body) }
        return stale
    }

    /// Removes and returns the next plan whose request may start now; nil if none may start.
    mutating func next(at now: CompactInstant = .now) -> Plan? {
        guard let next = self.plans.first else { return nil }
        if let room = self.availableByteCount, next.byteCount > room {
            // Old responses without readers.
            self.preparedBodies.removeAll { $0.preparationTime + Self.maximumIdleTime < now && !$0.body.hasReaders }
            if let room = self.availableByteCount, next.byteCount > room { return nil }
        }
        return self.plans.popFirst()
    }

    /// The number of bytes that may be requested now; nil for no limit.
    private var availableByteCount: Int64? {
        guard !self.preparedBodies.isEmpty else { return nil }
        guard self.preparedBodies.count(where: { $0.body.isUnderWay }) < Self.maximumRequestCount else { return 0 }
        return Self.maximumByteCount - self.preparedBodies.reduce(0) { $0 + $1.byteCount }
    }

    mutating func add(_ body: RemoteBody, for plan: Plan, at now: CompactInstant = .now) {
        self.preparedBodies.append(PreparedBody(body: body, plan: plan, preparationTime: now))
    }

    /// Removes a response after a reader has read its bytes from an offset, unless more reads are expected.
    ///
    /// - Returns: True if the response was removed.
    mutating func didRead(_ body: RemoteBody, from byteOffset: Int64) -> Bool {
        guard let index = self.preparedBodies.firstIndex(where: { $0.body === body }),
            self.preparedBodies[index].plan.finishRead(at: byteOffset)
        else { return false }
        self.preparedBodies.remove(at: index)
        return true
    }

    mutating func remove(_ body: RemoteBody) { self.preparedBodies.removeAll { $0.body === body } }

    /// Removes all plans.
    mutating func removePlans() { self.plans = Fifo() }
}
