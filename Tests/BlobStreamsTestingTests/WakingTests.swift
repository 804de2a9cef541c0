import BlobStreams
import Foundation
import Testing

@testable import BlobStreamsTesting

private let bytes = Data((0..<700).map { UInt8(truncatingIfNeeded: $0 &* 11) })

/// One event-driven reader for each sentence on waiting, which breaks that sentence and no other.
@Suite struct WakingTests {
    /// Of what shows by the time that calls take, or in a race, only the check is run that is meant.
    @Test(arguments: WaitingSource.Defect.allCases)
    func aBrokenSentenceIsNamedByItsCheckAlone(_ defect: WaitingSource.Defect) async {
        let found = await findings(defect) { kit in try? defect.run(kit) }
        #expect(!found.isEmpty)
        #expect(found.allSatisfy { $0.message.contains(defect.words) }, "\(found)")
    }

    @Test func aStreamThatSaysNotYetHasASlot() async {
        let found = await violations(of: WaitingSource(defect: .hasNoSlot), expecting: bytes)
        #expect(found.contains { $0.contract == 1 && $0.message.contains("no slot") }, "\(found)")
    }

    @Test func aReaderThatWaitsAsItShouldBreaksNothing() async {
        #expect(await findings(nil) { kit in _ = kit.run() } == [])
        for pieceByteCount in [1, 64, 1000] {
            let source = DripSource(MemorySource(bytes), pieceByteCount: pieceByteCount)
            #expect(await violations(of: source, expecting: bytes) == [])
        }
    }

    private func findings(
        _ defect: WaitingSource.Defect?, _ body: @escaping @Sendable (Kit) -> Void
    ) async -> [BlobViolation] {
        let kit = Kit({ WaitingSource(defect: defect) }, expecting: Expectation(bytes), waitLimit: .seconds(5))
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                body(kit)
                continuation.resume(returning: kit.findings.all)
            }
        }
    }
}

/// An event-driven source with one defect: the first reads of its readers have to wait.
struct WaitingSource: BlobInputStreamDataSource {
    enum Defect: CaseIterable, Sendable {
        case hasNoSlot, neverFires, firesTooEarly, firesUnderItsLock, belongsToAThread
        case changesItsInfo, opensInSilence
        case sourceBlocksOnlyLater, streamBlocksOnlyLater, blocksInARead, blocksAtAnOffset, blocksWithAValidator

        /// A part of the message.
        var words: String {
            switch self {
            case .hasNoSlot: "there is no slot"
            case .neverFires, .firesTooEarly: "A slot is not fired, or is fired too early."
            case .firesUnderItsLock: "The slot is fired under a lock"
            case .belongsToAThread: "A reader that is used by one thread after another fails"
            case .changesItsInfo: "The info of an open reader changed"
            case .opensInSilence: "The slot is not fired when the info is known."
            case .sourceBlocksOnlyLater: "The traits of the source are not constant."
            case .streamBlocksOnlyLater: "'neverBlocks' of a reader is not constant."
            case .blocksInARead: "A call to 'read' blocks, although 'neverBlocks' is true."
            case .blocksAtAnOffset, .blocksWithAValidator: "A call to 'open' (opened at an offset or with"
            }
        }

        func run(_ kit: Kit) throws {
            switch self {
            case .neverFires, .firesTooEarly: try kit.checkCalls()
            case .opensInSilence: try kit.checkWakerAtOpening()
            case .belongsToAThread: try kit.checkThreads()
            case .blocksInARead, .blocksAtAnOffset, .blocksWithAValidator: try kit.checkNeverBlocks()
            default: _ = kit.run()
            }
        }

        /// When something comes after it was asked for: where the defect shows only if a waker is there before, later
        /// than a thread takes to register one.
        var delay: Duration {
            switch self {
            case .firesTooEarly, .firesUnderItsLock: .milliseconds(4)
            case .opensInSilence: .milliseconds(1500)
            default: .zero
            }
        }
    }

    let defect: Defect?
    private let openingCount = Locked(0)

    init(defect: Defect?) { self.defect = defect }

    var traits: BlobTraits {
        let neverBlocks =
            switch self.defect {
            case .streamBlocksOnlyLater: false
            case .sourceBlocksOnlyLater: self.openingCount.withLock { $0 } == 0
            default: true
            }
        return neverBlocks ? [.neverBlocks, .repeatable, .concurrentReaders] : [.repeatable, .concurrentReaders]
    }

    func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(byteCount: Int64(bytes.count), validator: .strong("of these bytes"))
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        self.openingCount.withLock { $0 += 1 }
        if self.defect == .blocksAtAnOffset && opening.byteOffset > 0
            || self.defect == .blocksWithAValidator && opening.validator != nil
        {
            _ = WaitSignal().wait(for: .milliseconds(1200))
        }
        let info = self.describe(opening.context)
        return .stream(
            WaitingStream(self.defect, info, opening.byteOffset, opening.context), startingAt: opening.byteOffset)
    }
}

private final class WaitingStream: BlobByteStream {
    private struct State {
        var isOpen = false
        var isThere = false
        var isAwaited = false
        var waitCount = 0
    }

    private let defect: WaitingSource.Defect?
    private let knownInfo: BlobInfo
    private let context: BlobContext
    private let state = Locked(State())
    private let slot = BlobWakerSlot()
    private let start: Int64
    private var thread: pthread_t?
    private var byteOffset: Int64
    private var readCount = 0
    private var timers: [BlobRegistration] = []

    init(_ defect: WaitingSource.Defect?, _ info: BlobInfo, _ start: Int64, _ context: BlobContext) {
        (self.defect, self.knownInfo, self.start, self.context) = (defect, info, start, context)
        self.byteOffset = start
    }

    var info: BlobInfo? {
        guard self.state.withLock({ $0.isOpen }) else {
            self.ask()
            return nil
        }
        var info = self.knownInfo
        if self.defect == .changesItsInfo { info.name = self.byteOffset - self.start > 100 ? "later" : "sooner" }
        return info
    }

    var neverBlocks: Bool { self.defect == .streamBlocksOnlyLater ? self.readCount == 0 : true }
    var readiness: BlobWakerSlot? { self.defect == .hasNoSlot ? nil : self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        self.readCount += 1
        self.byteOffset = byteOffset
        if self.defect == .belongsToAThread {
            let thread = self.thread ?? pthread_self()
            self.thread = thread
            guard pthread_equal(thread, pthread_self()) != 0 else { throw BlobError(.io, "It is another thread's.") }
        }
        if self.defect == .blocksInARead, self.readCount == 1 { _ = WaitSignal().wait(for: .milliseconds(1200)) }
        // The first reads have to wait; the rest of the bytes is there.
        let isThere = self.state.withLock { state in
            guard state.isThere || state.waitCount == 6 else { return false }
            state.isThere = false
            return true
        }
        guard isThere else {
            self.ask()
            return .notYet
        }
        guard byteOffset < bytes.count else { return .end }
        _ = bytes[Int(byteOffset)...].prefix(64).withUnsafeBytes { output.append(contentsOf: $0) }
        return .bytes
    }

    /// Makes the next bytes come.
    private func ask() {
        let asks = self.state.withLock { state in
            guard !state.isAwaited, !state.isThere else { return false }
            state.isAwaited = true
            return true
        }
        if asks { self.come(after: self.defect?.delay ?? .zero) }
    }

    private func come(after delay: Duration) {
        let (state, slot, defect) = (self.state, self.slot, self.defect)
        let come: @Sendable () -> Void = {
            state.withLock { state in
                (state.isOpen, state.isThere, state.isAwaited) = (true, true, false)
                state.waitCount += 1
                if defect == .firesUnderItsLock { slot.fire() }
            }
            switch defect {
            case .neverFires, .firesTooEarly, .firesUnderItsLock: break
            case .opensInSilence where state.withLock({ $0.waitCount }) == 1: break
            default: slot.fire()
            }
        }
        if defect == .firesTooEarly { slot.fire() }
        if delay == .zero { return _ = BlockingPool.briefJobs.run(come) }
        self.timers.append(self.context.wake(after: delay, BlobWaker { BlockingPool.briefJobs.run(come) }))
    }
}
