public import BlobCore

/// An event-driven source whose bytes arrive in pieces, as from a network, for tests of sources that wrap others.
///
/// Its readers know their facts late, return `notYet` before each piece, and fire their slot on several threads: at once,
/// later, or once in vain first.
public struct DripSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let pieceByteCount: Int

    /// Creates a source with the bytes of `base`.
    ///
    /// - Parameters:
    ///   - base: The source of the bytes. It is read on the calling thread, so its reads should be short.
    ///   - pieceByteCount: The number of bytes of a piece, from 1.
    public init(_ base: any BlobInputStreamDataSource, pieceByteCount: Int = 1000) {
        precondition(pieceByteCount > 0, "A piece has at least one byte.")
        self.base = base
        self.pieceByteCount = pieceByteCount
    }

    /// The traits of the base; never blocks.
    public var traits: BlobTraits { self.base.traits.union(.neverBlocks) }

    /// Makes a stream whose facts are not known yet; an error of opening is thrown by a read.
    public func makeBody(_ opening: BlobOpening) -> BlobBody {
        let base = Result { () throws(BlobError) in
            try self.base.open(at: opening.byteOffset, matching: opening.validator, context: opening.context)
        }
        return .stream(
            DripStream(base, pieceByteCount: self.pieceByteCount, opening.context), startingAt: opening.byteOffset)
    }
}

private final class DripStream: BlobByteStream {
    private let base: Result<BlobReader, BlobError>
    private let pieceByteCount: Int
    private let drops: Drops

    init(_ base: Result<BlobReader, BlobError>, pieceByteCount: Int, _ context: BlobContext) {
        self.base = base
        self.pieceByteCount = pieceByteCount
        self.drops = Drops(context)
    }

    var info: BlobInfo? {
        get throws {
            if !self.drops.isOpen { self.drops.ask() }
            return self.drops.isOpen ? try self.base.get().knownInfo() : nil
        }
    }

    var readiness: BlobWakerSlot? { self.drops.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard self.drops.take() else { return .notYet }
        let base = try self.base.get()
        var result = BlobReadResult.end
        try output.append(atMost: self.pieceByteCount) { result = try base.readWaiting(into: &$0) }
        return result
    }

    func close() {
        self.drops.close()
        try? self.base.get().close()
    }
}

/// The signals of one reader: one drop, which stands for a piece, after each read that asked for it.
private final class Drops: Sendable {
    private struct State {
        var isOpen = false
        var isThere = false
        var isAwaited = false
        var round = 0
        var timer: BlobRegistration?
    }

    let slot = BlobWakerSlot()
    private let state = Locked(State())
    private let context: BlobContext

    init(_ context: BlobContext) { self.context = context }

    var isOpen: Bool { self.state.withLock { $0.isOpen } }

    /// Takes the drop that has fallen; returns false if there is none, and then causes one.
    func take() -> Bool {
        let isThere = self.state.withLock { state in
            defer { state.isThere = false }
            return state.isThere
        }
        if !isThere { self.ask() }
        return isThere
    }

    /// Causes a drop to fall, unless there is one, or one is falling.
    func ask() {
        let round: Int? = self.state.withLock { state in
            guard !state.isAwaited, !state.isThere else { return nil }
            state.isAwaited = true
            defer { state.round += 1 }
            return state.round
        }
        if let round { self.send(round) }
    }

    /// Causes a drop to fall, in another way each round.
    private func send(_ round: Int) {
        switch round % 4 {
        case 0:
            let timer = self.context.wake(after: .zero, BlobWaker { [weak self] in self?.fall() })
            let old = self.state.withLock { state in
                defer { state.timer = state.isAwaited ? timer : nil }
                return state.timer
            }
            withExtendedLifetime(old) {}
        case 1: BlockingPool.brief.run { self.fall() }
        case 2: self.fall()
        default:
            BlockingPool.brief.run {
                self.slot.fire()  // A spurious call.
                self.fall()
            }
        }
    }

    private func fall() {
        self.state.withLock { ($0.isOpen, $0.isThere, $0.isAwaited) = (true, true, false) }
        self.slot.fire()
    }

    func close() {
        let timer = self.state.withLock { $0.timer.take() }
        timer?.cancel()
    }
}
