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

    @Test(arguments: [false, true]) func aReaderThatSaysNotYetMustImplementWhenReadable(hasBytes: Bool) async {
        let found = await violations(of: SilentSource(hasBytes: hasBytes), expecting: bytes)
        #expect(found.contains { $0.contract == 1 && $0.message == ViolationLog.missingMethod }, "\(found)")
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
        let kit = Kit({ WaitingSource(defect: defect) }, expecting: Expectation(bytes), patience: .seconds(5))
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
        case keepsTheOldestWaker, callsReplacedWakers, losesEarlySignals, forgetsToTestReadiness
        case callsUnderItsLock, belongsToAThread, keepsItsWakerAfterClose, callsAfterClose
        case isNeverOpen, closesAgain, changesItsInfo, opensInSilence
        case sourceBlocksOnlyLater, readerBlocksOnlyLater, blocksInARead

        /// A part of the message.
        var words: String {
            switch self {
            case .keepsTheOldestWaker: "A waker that replaced another is not called."
            case .callsReplacedWakers: "A waker that another has replaced is called all the same."
            case .losesEarlySignals: "A signal between 'notYet' and 'whenReadable' is lost."
            case .forgetsToTestReadiness: "A waker that is registered when a read is worth trying is not called."
            case .callsUnderItsLock: "The waker is called while a lock is held"
            case .belongsToAThread: "A reader that one thread after another uses fails"
            case .keepsItsWakerAfterClose: "A closed reader keeps its waker."
            case .callsAfterClose: "A waker is called after the reader was closed."
            case .isNeverOpen: "A read gave bytes and the reader is not open."
            case .closesAgain: "A reader that was open is not open any more."
            case .changesItsInfo: "The info of an open reader changed"
            case .opensInSilence: "The waker is not called when the reader opens."
            case .sourceBlocksOnlyLater: "The traits of the source are not constant."
            case .readerBlocksOnlyLater: "'neverBlocks' of a reader is not constant."
            case .blocksInARead: "A call of 'read' blocks, although 'neverBlocks' is true."
            }
        }

        func run(_ kit: Kit) throws {
            switch self {
            case .losesEarlySignals: try kit.checkEarlySignals()
            case .opensInSilence: try kit.checkWakerAtOpening()
            case .blocksInARead: try kit.checkNeverBlocks()
            default: _ = kit.run()
            }
        }

        /// When something comes after it was asked for: where the defect shows only if a waker is there before, later
        /// than a thread takes to register one.
        var delay: Duration {
            switch self {
            case .losesEarlySignals, .forgetsToTestReadiness, .callsAfterClose: .milliseconds(4)
            case .keepsTheOldestWaker, .callsUnderItsLock, .keepsItsWakerAfterClose: .milliseconds(4)
            case .callsReplacedWakers: .milliseconds(1)
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
            case .readerBlocksOnlyLater: false
            case .sourceBlocksOnlyLater: self.openingCount.withLock { $0 } == 0
            default: true
            }
        return neverBlocks ? [.neverBlocks, .repeatable, .concurrentReaders] : [.repeatable, .concurrentReaders]
    }

    func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(byteCount: Int64(bytes.count), validator: .strong("of these bytes"))
    }

    func makeReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext) throws
        -> any BlobPluginReader
    {
        let info = self.describe(context)
        try info.check(byteOffset: byteOffset, matching: validator)
        self.openingCount.withLock { $0 += 1 }
        return WaitingReader(self.defect, info, Int(byteOffset), context)
    }
}

private final class WaitingReader: BlobPluginReader {
    private struct State {
        var isOpen = false
        var isThere = false
        var isAwaited = false
        var isClosed = false
        var wasTold = false
        var waitCount = 0
        var wakers: [BlobWaker] = []
    }

    private let defect: WaitingSource.Defect?
    private let knownInfo: BlobInfo
    private let context: BlobContext
    private let state = Locked(State())
    private var offset: Int
    private var thread: pthread_t?
    private var readCount = 0
    private var timers: [BlobRegistration] = []

    init(_ defect: WaitingSource.Defect?, _ info: BlobInfo, _ offset: Int, _ context: BlobContext) {
        (self.defect, self.knownInfo, self.offset, self.context) = (defect, info, offset, context)
        if defect == .opensInSilence { self.after(.milliseconds(4)) { $0.isOpen = true } }
    }

    var info: BlobInfo {
        var info = self.knownInfo
        if self.defect == .changesItsInfo { info.name = self.offset > 100 ? "later" : "sooner" }
        return info
    }

    var isOpen: Bool {
        switch self.defect {
        case .isNeverOpen: false
        case .closesAgain: !(100...200).contains(self.offset)
        default: self.state.withLock { $0.isOpen }
        }
    }

    var neverBlocks: Bool { self.defect == .readerBlocksOnlyLater ? self.readCount == 0 : true }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        self.readCount += 1
        if self.defect == .belongsToAThread {
            let thread = self.thread ?? pthread_self()
            self.thread = thread
            guard pthread_equal(thread, pthread_self()) != 0 else { throw BlobError(.io, "It is another thread's.") }
        }
        if self.defect == .blocksInARead, self.readCount == 1 { _ = WaitSignal().wait(for: .milliseconds(1200)) }
        let (isThere, asks) = try self.state.withLock { state in
            guard !state.isClosed else { throw BlobError(.closed, "Closed.") }
            // The first reads have to wait; the rest of the bytes is there.
            if state.isThere || state.waitCount == 6 {
                (state.isThere, state.wasTold) = (false, false)
                return (true, false)
            }
            defer { state.isAwaited = true }
            return (false, !state.isAwaited)
        }
        try self.context.check()
        guard isThere else {
            if asks, self.defect != .forgetsToTestReadiness { self.ask() }
            return .notYet
        }
        guard self.offset < bytes.count else { return .end }
        self.offset += bytes[self.offset...].prefix(64).withUnsafeBytes { output.append(contentsOf: $0) }
        return .bytes
    }

    private func ask() {
        self.after(self.defect?.delay ?? .zero) { state in
            (state.isOpen, state.isThere, state.isAwaited) = (true, true, false)
            state.waitCount += 1
        }
    }

    private func after(_ delay: Duration, _ change: @escaping @Sendable (inout State) -> Void) {
        let (state, defect) = (self.state, self.defect)
        let fall: @Sendable () -> Void = {
            let wakers = state.withLock { state -> [BlobWaker] in
                let wasThere = state.isThere
                change(&state)
                guard state.isThere, !wasThere, !state.isClosed || defect == .callsAfterClose else { return [] }
                state.wasTold = !state.wakers.isEmpty
                defer { state.wakers = [] }
                if defect == .callsUnderItsLock { for waker in state.wakers { waker.wake() } }
                return state.wakers
            }
            if defect != .callsUnderItsLock { for waker in wakers { waker.wake() } }
        }
        if delay == .zero { return _ = BlockingPool.brief.run(fall) }
        self.timers.append(self.context.wake(after: delay, BlobWaker { BlockingPool.brief.run(fall) }))
    }

    func whenReadable(_ waker: BlobWaker) {
        let (isReadable, asks) = self.state.withLock { state in
            var isReadable = state.isThere
            if self.defect == .losesEarlySignals { isReadable = isReadable && state.wasTold }
            let asks = self.defect == .forgetsToTestReadiness && !state.isThere && state.wakers.isEmpty
            if self.defect == .forgetsToTestReadiness { isReadable = false }
            if !isReadable {
                switch self.defect {
                case .keepsTheOldestWaker: if state.wakers.isEmpty { state.wakers = [waker] }
                case .callsReplacedWakers: state.wakers.append(waker)
                default: state.wakers = [waker]
                }
            }
            return (isReadable, asks)
        }
        if asks { self.ask() }
        if isReadable { waker.wake() }
    }

    func close() {
        self.state.withLock { state in
            state.isClosed = true
            if self.defect != .callsAfterClose, self.defect != .keepsItsWakerAfterClose { state.wakers = [] }
        }
    }
}

/// A source whose readers return `notYet` and cannot tell when to read again: for ever, or before each piece of bytes.
private struct SilentSource: BlobInputStreamDataSource {
    let hasBytes: Bool
    let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders]
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }
    func makeReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext)
        -> any BlobPluginReader
    {
        Reader(self.hasBytes ? bytes.dropFirst(Int(byteOffset)) : nil)
    }

    private final class Reader: BlobPluginReader {
        var info: BlobInfo { BlobInfo() }
        private var rest: Data?
        private var isWaiting = false

        init(_ rest: Data?) { self.rest = rest }

        func read(into output: inout OutputRawSpan) -> BlobReadResult {
            self.isWaiting.toggle()
            guard !self.isWaiting, var rest = self.rest.take() else { return .notYet }
            defer { self.rest = rest }
            return .moving(&rest, to: &output)
        }

        func close() {}
    }
}
