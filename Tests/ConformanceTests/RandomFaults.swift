import BlobStreams
import BlobTestSupport

/// A fault of one call of a source.
enum RandomFault: CaseIterable, Hashable, Sendable {
    case transientError, permanentError, notYet, stall, shortRead
    /// The end comes early: without an error, which breaks C8.
    case earlyEnd
    /// The source has other content from the next opening on.
    case change
    /// A bit of the bytes is wrong.
    case wrongBit
}

/// The faults of one pass, drawn for each call of its sources.
final class RandomFaults: Sendable {
    private struct State {
        var random: SplitMix64
        var rest: Int
        var isChanged = false
        var injected: [RandomFault] = []
    }

    private let kinds: [RandomFault]
    private let oddsAgainst: Int
    private let state: Locked<State>

    /// - Parameters:
    ///   - kinds: The faults that may come.
    ///   - maximumCount: The largest number of them.
    ///   - oddsAgainst: The number of calls for each fault, on average.
    init(_ kinds: [RandomFault], maximumCount: Int, oddsAgainst: Int, seed: UInt64) {
        (self.kinds, self.oddsAgainst) = (kinds, oddsAgainst)
        self.state = Locked(State(random: SplitMix64(seed: seed), rest: maximumCount))
    }

    /// The faults that came.
    var injected: [RandomFault] { self.state.withLock { $0.injected } }

    var isChanged: Bool { self.state.withLock { $0.isChanged } }

    /// Draws the fault of a call, if it may have one of `kinds`.
    func draw(_ kinds: Set<RandomFault>) -> RandomFault? {
        self.state.withLock { state in
            guard state.rest > 0, Int.random(in: 0..<self.oddsAgainst, using: &state.random) == 0,
                let fault = self.kinds.randomElement(using: &state.random), kinds.contains(fault)
            else { return nil }
            state.rest -= 1
            state.injected.append(fault)
            if fault == .change { state.isChanged = true }
            return fault
        }
    }

    func number(below end: Int) -> Int { self.state.withLock { Int.random(in: 0..<end, using: &$0.random) } }
}

extension BlobError {
    static let injected = BlobError(.unavailable, "The line was cut.")
    static let injectedForGood = BlobError(.permissionDenied, "The key was withdrawn.")
}

/// A source with the faults of a pass.
struct RandomlyFaultySource: ForwardingSource {
    let original: any BlobInputStreamDataSource
    let other: any BlobInputStreamDataSource
    let faults: RandomFaults

    var base: any BlobInputStreamDataSource { self.faults.isChanged ? self.other : self.original }
    var traits: BlobTraits { self.original.traits }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        try self.fail()
        return try self.base.info(context)
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try self.fail()
        let stream = RandomlyFaultyStream(try self.base.open(opening), self.faults)
        return .stream(stream, startingAt: opening.byteOffset)
    }

    private func fail() throws {
        switch self.faults.draw([.transientError, .permanentError, .change]) {
        case .transientError: throw BlobError.injected
        case .permanentError: throw BlobError.injectedForGood
        default: break
        }
    }
}

private final class RandomlyFaultyStream: BlobByteStream {
    private enum Pause {
        case short, endless
    }

    private let base: BlobReader
    private let faults: RandomFaults
    private let slot = BlobWakerSlot()
    private var pause: Pause?

    init(_ base: BlobReader, _ faults: RandomFaults) { (self.base, self.faults) = (base, faults) }

    var info: BlobInfo? { get throws { try self.base.knownInfo() } }
    var neverBlocks: Bool { self.base.neverBlocks }
    var readiness: BlobWakerSlot? { self.pause == nil ? self.base.readiness : self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.pause == .endless { return .notYet }
        self.pause = nil
        switch self.faults.draw(Set(RandomFault.allCases)) {
        case .transientError: throw BlobError.injected
        case .permanentError: throw BlobError.injectedForGood
        case .earlyEnd: return .end
        case .notYet:
            self.pause = .short
            BlockingPool.briefJobs.run { [slot] in slot.fire() }
        case .stall: self.pause = .endless
        case .shortRead: return try self.base.read(into: &output, atMost: 1 + self.faults.number(below: 9))
        case .wrongBit:
            var result = BlobReadResult.end
            try output.append(atMost: .max) { part in
                result = try self.base.read(into: &part)
                part.withUnsafeMutableBytes { buffer, count in
                    if count > 0 { buffer[self.faults.number(below: count)] ^= 1 << self.faults.number(below: 8) }
                }
            }
            return result
        case .change, nil: return try self.base.read(into: &output)
        }
        return .notYet
    }

    func close() { self.base.close() }
}
