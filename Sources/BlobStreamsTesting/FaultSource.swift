public import BlobCore
import BlobPlatform

/// A source that delivers the bytes of another with a fault, or in a legal but difficult way.
///
/// Use it to test code that reads from sources. ``BlobReader`` or the conformance kit catches the faults that break a
/// contract; legal difficulties must be invisible to every consumer.
public struct FaultSource: BlobInputStreamDataSource {
    /// A fault or difficulty. Offsets are in bytes from the start of the blob.
    public enum Fault: Sendable {
        /// Each read appends one byte. Legal.
        case oneByte
        /// Each read appends at most half of the free capacity, but at least one byte. Legal.
        case half
        /// Each read waits for this interval and appends one byte. Legal; can be cancelled.
        case delayedBytes(every: Duration)
        /// No bytes arrive from this offset on, until the job is cancelled or times out. Legal.
        case stall(at: Int64)
        /// The read at this offset takes this long and ignores cancellation, which breaks C12.
        case uncancellableStall(at: Int64, for: Duration)
        /// The read that would pass this offset throws, as do all later reads.
        case fail(at: Int64, BlobError = BlobError(.io, "A fault was injected by a test."))
        /// The end comes at this offset, without an error, which breaks C8.
        case truncate(at: Int64)
        /// The bytes from this offset on are inverted, without an error, which breaks C8 and C11.
        case change(at: Int64)
        /// The declared byte count is wrong by this number of bytes, which breaks C8.
        case wrongByteCount(by: Int64)
    }

    private let base: any BlobInputStreamDataSource
    private let fault: Fault

    /// Creates a source with the bytes of `base` and the fault.
    public init(_ base: any BlobInputStreamDataSource, _ fault: Fault) {
        self.base = base
        self.fault = fault
    }

    /// The traits of the base, without ``BlobTraits/neverBlocks``.
    public var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }

    /// Returns the info of the base, with a wrong byte count for ``Fault/wrongByteCount(by:)``.
    public func describe(_ context: BlobContext) throws -> BlobInfo {
        self.withFalseByteCount(try self.base.info(context))
    }

    /// Returns a stream over the base that applies the fault.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let reader = try self.base.open(opening)
        let stream = FaultStream(reader, self.fault, info: self.withFalseByteCount(reader.info), opening.context)
        return .stream(stream, startingAt: opening.byteOffset)
    }

    private func withFalseByteCount(_ info: BlobInfo) -> BlobInfo {
        guard case .wrongByteCount(let difference) = self.fault else { return info }
        var info = info
        info.byteCount = info.byteCount.map { $0 + difference }
        return info
    }
}

private final class FaultStream: BlobByteStream {
    let info: BlobInfo?
    private let base: BlobReader
    private let fault: FaultSource.Fault
    private let context: BlobContext

    init(_ base: BlobReader, _ fault: FaultSource.Fault, info: BlobInfo, _ context: BlobContext) {
        self.base = base
        self.fault = fault
        self.info = info
        self.context = context
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        switch self.fault {
        case .oneByte: return try self.read(atMost: 1, &output)
        case .half: return try self.read(atMost: max(1, output.freeCapacity / 2), &output)
        case .delayedBytes(let interval):
            try self.context.pause(for: interval)
            return try self.read(atMost: 1, &output)
        case .wrongByteCount: return try self.base.readBlocking(into: &output)
        case .stall(let offset):
            if try self.readUp(to: offset, &output) { return .bytes }
            return try self.context.wait(on: WaitSignal()) { BlobReadResult?.none }
        case .uncancellableStall(let offset, let duration):
            if try self.readUp(to: offset, &output) { return .bytes }
            if self.base.byteOffset == offset { _ = WaitSignal().wait(for: duration) }
            return try self.base.readBlocking(into: &output)
        case .fail(let offset, let error):
            if try self.readUp(to: offset, &output) { return .bytes }
            throw error
        case .truncate(let offset): return try self.readUp(to: offset, &output) ? .bytes : .end
        case .change(let offset):
            if try self.readUp(to: offset, &output) { return .bytes }
            var result = BlobReadResult.end
            try output.append(atMost: .max) { part in
                result = try self.base.readBlocking(into: &part)
                part.withUnsafeMutableBytes { buffer, count in
                    for index in 0..<count { buffer[index] = ~buffer[index] }
                }
            }
            return result
        }
    }

    func close() { self.base.close() }

    private func read(atMost byteCount: Int, _ output: inout OutputRawSpan) throws -> BlobReadResult {
        var result = BlobReadResult.end
        try output.append(atMost: byteCount) { result = try self.base.readBlocking(into: &$0) }
        return result
    }

    /// Reads up to `offset`; returns false at or past it, and at the end.
    private func readUp(to offset: Int64, _ output: inout OutputRawSpan) throws -> Bool {
        let room = offset - self.base.byteOffset
        guard room > 0 else { return false }
        return try self.read(atMost: Int(clamping: room), &output) == .bytes
    }
}

/// An event-driven source whose bytes arrive in pieces, as from a network, for tests of sources that wrap others.
///
/// The info of its readers becomes known late. They return `notYet` before each piece. Their slot is fired on various
/// threads, at once or later, and sometimes spuriously before the piece is available.
public struct DripSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let pieceByteCount: Int

    /// Creates a source with the bytes of `base`.
    ///
    /// - Parameters:
    ///   - base: The source of the bytes. It is read on the calling thread, so its reads should be short.
    ///   - pieceByteCount: The number of bytes in a piece, at least 1.
    public init(_ base: any BlobInputStreamDataSource, pieceByteCount: Int = 1000) {
        precondition(pieceByteCount > 0, "A piece must have at least one byte.")
        self.base = base
        self.pieceByteCount = pieceByteCount
    }

    /// The traits of the base, and ``BlobTraits/neverBlocks``.
    public var traits: BlobTraits { self.base.traits.union(.neverBlocks) }

    /// Creates a stream whose info is not known yet; errors of opening are thrown by a read.
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
    private let pieceTimer: PieceTimer

    init(_ base: Result<BlobReader, BlobError>, pieceByteCount: Int, _ context: BlobContext) {
        self.base = base
        self.pieceByteCount = pieceByteCount
        self.pieceTimer = PieceTimer(context)
    }

    var info: BlobInfo? {
        get throws {
            if !self.pieceTimer.isOpen { self.pieceTimer.requestPiece() }
            return self.pieceTimer.isOpen ? try self.base.get().knownInfo() : nil
        }
    }

    var readiness: BlobWakerSlot? { self.pieceTimer.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard self.pieceTimer.takePiece() else { return .notYet }
        let base = try self.base.get()
        var result = BlobReadResult.end
        try output.append(atMost: self.pieceByteCount) { result = try base.readBlocking(into: &$0) }
        return result
    }

    func close() {
        self.pieceTimer.close()
        try? self.base.get().close()
    }
}

/// The timing of one reader's pieces: each piece becomes available some time after the read that requested it.
private final class PieceTimer: Sendable {
    private struct State {
        var isOpen = false
        var hasPendingPiece = false
        var isAwaited = false
        var round = 0
    }

    let slot = BlobWakerSlot()
    private let state = Locked(State())
    private let timer = Locked<BlobRegistration?>(nil)
    private let context: BlobContext

    init(_ context: BlobContext) { self.context = context }

    var isOpen: Bool { self.state.withLock { $0.isOpen } }

    /// Consumes the available piece and returns true; if no piece is available, requests one and returns false.
    func takePiece() -> Bool {
        let hasPendingPiece = self.state.withLock { state in
            defer { state.hasPendingPiece = false }
            return state.hasPendingPiece
        }
        if !hasPendingPiece { self.requestPiece() }
        return hasPendingPiece
    }

    /// Requests a piece, unless one is available or was already requested.
    func requestPiece() {
        let round: Int? = self.state.withLock { state in
            guard !state.isAwaited, !state.hasPendingPiece else { return nil }
            state.isAwaited = true
            defer { state.round += 1 }
            return state.round
        }
        if let round { self.send(round) }
    }

    /// Delivers a piece, in a different way each round.
    private func send(_ round: Int) {
        switch round % 4 {
        case 0:
            _ = self.timer.exchange(self.context.wake(after: .zero, BlobWaker { [weak self] in self?.deliverPiece() }))
        case 1: BlockingPool.briefJobs.run { self.deliverPiece() }
        case 2: self.deliverPiece()
        default:
            BlockingPool.briefJobs.run {
                self.slot.fire()  // A spurious call.
                self.deliverPiece()
            }
        }
    }

    private func deliverPiece() {
        self.state.withLock { ($0.isOpen, $0.hasPendingPiece, $0.isAwaited) = (true, true, false) }
        self.slot.fire()
    }

    func close() { _ = self.timer.exchange(nil) }
}
