import BlobCore

/// The answers that are requested before they are read, and the ranges whose turn comes after them.
struct PreparedAnswers {
    /// A range to request, and the number of reads that are expected of it.
    struct Plan {
        var range: Range<Int64>
        var readCount: Int
    }

    private struct Prepared {
        let body: RemoteBody
        var readCount: Int
        let since = Moment.now
    }

    /// The requests that are under way at once.
    private static let maximumRequestCount = 64
    /// The bytes of all answers that are not read yet.
    private static let maximumByteCount: Int64 = 16 << 20
    /// The longest range of one request: an answer that is kept whole.
    static let maximumPieceByteCount: Int64 = 1 << 20
    /// The gap between two ranges that costs less than a request: at 100 MB/s, a sixth of a millisecond.
    private static let maximumGap: Int64 = 16 * 1024
    /// The age at which an answer that nobody reads makes room for others.
    private static let patience = Duration.seconds(30)

    private var plans = Fifo<Plan>()
    private var prepared: [Prepared] = []

    var bodies: [RemoteBody] { self.prepared.map(\.body) }

    /// Plans the requests for ranges that will be read in this order. Neighbours become one request.
    mutating func plan(_ ranges: [Range<Int64>], within byteCount: Int64?) {
        var pieces: [(plan: Plan, position: Int)] = []
        let inside = ranges.map { $0.clamped(to: 0..<(byteCount ?? .max)) }
        for (position, range) in inside.enumerated().sorted(by: { $0.element.lowerBound < $1.element.lowerBound })
        where !range.isEmpty {
            if let last = pieces.last?.plan.range, range.lowerBound <= last.upperBound + Self.maximumGap,
                max(range.upperBound, last.upperBound) - last.lowerBound <= Self.maximumPieceByteCount
            {
                let end = max(range.upperBound, last.upperBound)
                pieces[pieces.count - 1].plan.range = last.lowerBound..<end
                pieces[pieces.count - 1].plan.readCount += 1
                pieces[pieces.count - 1].position = min(position, pieces[pieces.count - 1].position)
                continue
            }
            for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(Self.maximumPieceByteCount)) {
                let end = min(start + Self.maximumPieceByteCount, range.upperBound)
                pieces.append((Plan(range: start..<end, readCount: 1), position))
            }
        }
        for piece in pieces.sorted(by: { $0.position < $1.position }) { self.plans.append(piece.plan) }
    }

    /// Takes the next plan whose request may start now; nil when there is none.
    mutating func next() -> Plan? {
        guard let next = self.plans.first else { return nil }
        if let room = self.room, next.range.count > room {
            // What somebody prepared and did not read.
            self.prepared.removeAll { $0.since.instant + Self.patience < .now && !$0.body.hasReaders }
            if let room = self.room, next.range.count > room { return nil }
        }
        return self.plans.popFirst()
    }

    /// The bytes that may be requested now; nil for any number.
    private var room: Int64? {
        guard !self.prepared.isEmpty else { return nil }
        guard self.prepared.count(where: { $0.body.isUnderWay }) < Self.maximumRequestCount else { return 0 }
        return Self.maximumByteCount - self.prepared.reduce(0) { $0 + $1.body.plannedByteCount }
    }

    mutating func add(_ body: RemoteBody, for plan: Plan) {
        self.prepared.append(Prepared(body: body, readCount: plan.readCount))
    }

    /// Drops an answer that was read as often as expected.
    mutating func wasRead(_ body: RemoteBody) {
        guard let index = self.prepared.firstIndex(where: { $0.body === body }) else { return }
        self.prepared[index].readCount -= 1
        if self.prepared[index].readCount == 0 { self.prepared.remove(at: index) }
    }

    mutating func remove(_ body: RemoteBody) { self.prepared.removeAll { $0.body === body } }

    /// Plans nothing more.
    mutating func removePlans() { self.plans = Fifo() }
}
