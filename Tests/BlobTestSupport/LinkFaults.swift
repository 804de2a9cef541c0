/// The faults of one direction of a connection through a ``FaultProxy``. Offsets count the bytes that the sender sent,
/// in this connection and direction.
package struct LinkFaults: Sendable {
    /// The end of a connection that is cut.
    package enum Ending: Sendable {
        /// An orderly end, as of a peer that closes its connection.
        case end
        /// A reset, as of a peer that crashes. The bytes before it have arrived at the receiver's system.
        case reset
    }

    /// The number of bytes after which the whole connection is cut; nil is never.
    package var cutOffset: Int64?

    /// The end of a connection that is cut; the sender always sees a reset.
    package var ending = Ending.end

    /// The number of bytes after which no more pass, while the connection stays open; nil is never.
    package var stallOffset: Int64?

    /// The time that each byte is on its way, as on a real link: bytes follow each other without waiting.
    package var latency = Duration.zero

    /// The number of bytes that pass at once, and the time until the next ones; nil is as many as come.
    package var drip: (byteCount: Int, interval: Duration)?

    /// The distance of bytes that arrive twice, the first of which is at the distance itself; nil is none.
    package var duplicateDistance: Int64?

    /// The distance of bytes of which the lowest bit is flipped, the first of which is at the distance itself.
    package var corruptDistance: Int64?

    /// Creates a link without faults.
    package init() {}

    /// Creates a link with the faults that `choose` sets.
    package init(_ choose: (inout Self) -> Void) { choose(&self) }
}

/// The bytes on their way in one direction of a connection, as its faults have them. Does no input or output.
struct FaultyLink {
    /// The place of the bytes that the faults let pass.
    enum Phase: Equatable {
        /// More bytes may come.
        case open
        /// All bytes have passed; this is what follows them.
        case ended, cut, stalled
    }

    /// The number of bytes that may be on their way: more than the latency of any test times the rate of loopback.
    static let maximumByteCount = 32 << 20

    let faults: LinkFaults
    private var pieces: [(due: ContinuousClock.Instant, bytes: ArraySlice<UInt8>)] = []
    private var waitingByteCount = 0
    private var takenByteCount: Int64 = 0
    private var hasEnded = false
    private var nextDrip: ContinuousClock.Instant?

    init(_ faults: LinkFaults) { self.faults = faults }

    /// True while bytes of the sender are taken.
    var takesBytes: Bool {
        !self.hasEnded && self.takenByteCount < self.lastOffset && self.waitingByteCount < Self.maximumByteCount
    }

    private var lastOffset: Int64 { min(self.faults.cutOffset ?? .max, self.faults.stallOffset ?? .max) }

    var phase: Phase {
        guard self.pieces.isEmpty else { return .open }
        if self.takenByteCount == self.faults.cutOffset { return .cut }
        if self.takenByteCount == self.faults.stallOffset { return .stalled }
        return self.hasEnded ? .ended : .open
    }

    /// Takes bytes from the sender; those behind the place of a cut are lost.
    mutating func take(_ bytes: UnsafeRawBufferPointer, at now: ContinuousClock.Instant) {
        let bytes = bytes.prefix(Int(clamping: self.lastOffset - self.takenByteCount))
        var taken = Array(bytes)
        let range = self.takenByteCount..<(self.takenByteCount + Int64(bytes.count))
        self.takenByteCount = range.upperBound
        for offset in Self.multiples(of: self.faults.corruptDistance, in: range) {
            taken[Int(offset - range.lowerBound)] ^= 1
        }
        for offset in Self.multiples(of: self.faults.duplicateDistance, in: range).reversed() {
            let index = Int(offset - range.lowerBound)
            taken.insert(taken[index], at: index)
        }
        self.waitingByteCount += taken.count
        if !taken.isEmpty { self.pieces.append((now + self.faults.latency, taken[...])) }
    }

    /// Notes that the sender has ended its direction.
    mutating func end() { self.hasEnded = true }

    /// Returns the bytes that may be passed on now; nil when there are none.
    func due(at now: ContinuousClock.Instant) -> ArraySlice<UInt8>? {
        guard let moment = self.wakeTime, moment <= now, let first = self.pieces.first else { return nil }
        return first.bytes.prefix(self.faults.drip?.byteCount ?? .max)
    }

    /// The time from which ``due(at:)`` returns bytes; nil while there are none.
    var wakeTime: ContinuousClock.Instant? {
        self.pieces.first.map { max($0.due, self.nextDrip ?? $0.due) }
    }

    /// Removes bytes from the front that were passed on.
    mutating func pass(_ byteCount: Int, at now: ContinuousClock.Instant) {
        self.waitingByteCount -= byteCount
        self.pieces[0].bytes.removeFirst(byteCount)
        if self.pieces[0].bytes.isEmpty { self.pieces.removeFirst() }
        if let drip = self.faults.drip { self.nextDrip = now + drip.interval }
    }

    private static func multiples(of distance: Int64?, in range: Range<Int64>) -> [Int64] {
        guard let distance, distance > 0 else { return [] }
        let first = max((range.lowerBound + distance - 1) / distance, 1) * distance
        return Array(stride(from: first, to: range.upperBound, by: Int64.Stride(distance)))
    }
}
