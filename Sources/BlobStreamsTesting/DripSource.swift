public import BlobCore

/// An event-driven source whose bytes arrive in pieces, as from a network, for tests of sources that wrap others.
///
/// Its readers open late, return `notYet` before each piece, and call their waker on several threads: at registration,
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

    /// Makes a reader that is not open yet; an error of opening is thrown by a read.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        let base = Result { () throws(BlobError) in
            try self.base.open(at: byteOffset, matching: validator, context: context)
        }
        return DripReader(base, pieceByteCount: self.pieceByteCount, context)
    }
}

private final class DripReader: BlobPluginReader {
    private let base: Result<BlobReader, BlobError>
    private let pieceByteCount: Int
    private let drops: Drops

    init(_ base: Result<BlobReader, BlobError>, pieceByteCount: Int, _ context: BlobContext) {
        self.base = base
        self.pieceByteCount = pieceByteCount
        self.drops = Drops(context)
    }

    deinit { self.close() }

    var info: BlobInfo { self.isOpen ? (try? self.base.get().info) ?? BlobInfo() : BlobInfo() }
    var isOpen: Bool { self.drops.isOpen }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard try self.drops.take() else { return .notYet }
        var result = BlobReadResult.end
        do {
            let base = try self.base.get()
            try output.append(atMost: self.pieceByteCount) { result = try base.readWaiting(into: &$0) }
            if result == .end { self.drops.end() }
            return result
        } catch {
            self.drops.end()
            throw error
        }
    }

    func whenReadable(_ waker: BlobWaker) { self.drops.whenReadable(waker) }

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
        var hasEnded = false
        var isClosed = false
        var round = 0
        var waker: BlobWaker?
        var timer: BlobRegistration?

        mutating func takeWaker() -> BlobWaker? {
            defer { self.waker = nil }
            return self.waker
        }
    }

    private let state = Locked(State())
    private let context: BlobContext

    init(_ context: BlobContext) { self.context = context }

    var isOpen: Bool { self.state.withLock { $0.isOpen } }

    /// Takes the drop that has fallen; returns false if there is none, and then causes one.
    func take() throws -> Bool {
        let (isThere, round) = try self.state.withLock { state throws(BlobError) -> (Bool, Int?) in
            guard !state.isClosed else { throw BlobError(.closed, "The reader is closed.") }
            if state.isThere || state.hasEnded {
                state.isThere = false
                return (true, nil)
            }
            guard !state.isAwaited else { return (false, nil) }
            state.isAwaited = true
            defer { state.round += 1 }
            return (false, state.round)
        }
        if let round { self.send(round) }
        return isThere
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
                self.state.withLock { $0.takeWaker() }?.wake()  // A spurious call.
                self.fall()
            }
        }
    }

    private func fall() {
        let waker = self.state.withLock { state in
            (state.isOpen, state.isThere, state.isAwaited) = (true, true, false)
            return state.takeWaker()
        }
        waker?.wake()
    }

    func end() { self.state.withLock { $0.hasEnded = true } }

    func whenReadable(_ waker: BlobWaker) {
        let isReadable = self.state.withLock { state in
            let isReadable = state.isThere || state.hasEnded
            state.waker = isReadable || state.isClosed ? nil : waker
            return isReadable && !state.isClosed
        }
        if isReadable { waker.wake() }
    }

    func close() {
        let timer = self.state.withLock { state in
            (state.isClosed, state.waker) = (true, nil)
            defer { state.timer = nil }
            return state.timer
        }
        timer?.cancel()
    }
}
