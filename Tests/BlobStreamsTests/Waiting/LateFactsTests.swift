import BlobStreams
import BlobTestSupport
import Testing

@testable import BlobCore

/// Asking for the facts may end an attempt or begin the next one, so that a reader waits for another slot than before.
@Suite(.timeLimit(.minutes(1))) struct LateFactsTests {
    private let first = SilentStream()
    private let second = SilentStream()

    /// Returns a reader of the first stream, and of the second one after an error, that has read in vain.
    private func waitingReader() throws -> BlobReader {
        let streams = Locked([self.second, self.first])
        let source = StreamSource { streams.withLock { $0.removeLast() } }.layered { $0.retry = .impatient }
        let reader = try source.open(context: BlobContext(deadline: .now + .seconds(600)))
        #expect(try readNow(reader, upTo: 8).result == .notYet)
        return reader
    }

    @Test func anErrorOfTheFactsCallsTheWaker() async throws {
        try await onThread {
            let reader = try self.waitingReader()
            let isAwake = Latch()
            reader.whenReadable(BlobWaker { isAwake.open() })
            // Just before the slot is fired.
            self.first.fail()
            #expect(!reader.isOpen)
            self.first.slot.fire()
            isAwake.wait()
        }
    }

    /// A read that ends an attempt keeps the waker that waits for another one.
    @Test func anErrorOfAReadKeepsTheWaker() async throws {
        try await onThread {
            let reader = try self.waitingReader()
            let isAwake = Latch()
            reader.whenReadable(BlobWaker { isAwake.open() })
            self.first.fail()
            #expect(try readNow(reader, upTo: 8).result == .notYet)
            // The pause may be over during the read.
            self.second.slot.fire()
            isAwake.wait()
        }
    }

    /// The second stream knows its facts, and fires its slot only after a read.
    @Test func aWakerForASlotOfWhichNothingWasReadIsCalled() async throws {
        try await onThread {
            let reader = try self.waitingReader()
            self.first.fail()
            #expect(!reader.isOpen)
            self.second.learn()
            while !reader.isOpen { _ = WaitSignal().wait(for: .milliseconds(1)) }
            let isAwake = Latch()
            reader.whenReadable(BlobWaker { isAwake.open() })
            isAwake.wait()
            #expect(try readNow(reader, upTo: 8).result == .notYet)
        }
    }

    /// Asking peeks at the first bytes, which come during the reads of them: no call of the slot is left for the waker.
    @Test(arguments: [1, 2])
    func aWakerAfterFactsThatCameWithBytesIsCalled(deferrals: Int) async throws {
        try await onThread {
            let stream = StutteringStream()
            var source: any BlobInputStreamDataSource = StreamSource { stream }
            for _ in 0..<deferrals { source = DeferringSource(base: source) }
            let reader = try source.open()
            #expect(try readNow(reader, upTo: 8).result == .notYet)
            stream.begin()
            #expect(reader.isOpen)
            let isAwake = Latch()
            reader.whenReadable(BlobWaker { isAwake.open() })
            isAwake.wait()
            #expect(try readNow(reader, upTo: 8).result == .bytes)
        }
    }
}

private struct StreamSource: BlobInputStreamDataSource {
    let make: @Sendable () -> any BlobByteStream

    var traits: BlobTraits { [.repeatable, .concurrentReaders, .neverBlocks] }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }
    func makeBody(_ opening: BlobOpening) -> BlobBody { .stream(self.make(), startingAt: opening.byteOffset) }
}

/// A stream without a byte, whose slot only the test fires.
private final class SilentStream: BlobByteStream, Sendable {
    let slot = BlobWakerSlot()
    private let facts = Locked<Result<BlobInfo, BlobError>?>(nil)

    func learn() { self.facts.withLock { $0 = .success(BlobInfo()) } }

    func fail() {
        self.facts.withLock { $0 = .failure(BlobError(.unavailable, "The line was cut.", isTransient: true)) }
    }

    var info: BlobInfo? { get throws { try self.facts.withLock { $0 }?.get() } }
    var neverBlocks: Bool { true }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        _ = try self.info
        return .notYet
    }
}

/// Looks at two bytes before it hands out the bytes of its base.
private struct DeferringSource: BlobInputStreamDataSource {
    let base: any BlobInputStreamDataSource

    var traits: BlobTraits { self.base.traits }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let reader = try self.base.open(context: opening.context)
        return .deferred(reader, peeking: 2) { _, _ in .inspected(reader, Passing(), startingAt: 0) }
    }

    private struct Passing: BlobInspector {
        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
    }
}

/// A stream whose bytes come one by one, each during a read in vain that asks for it.
private final class StutteringStream: BlobByteStream, Sendable {
    private let slot = BlobWakerSlot()
    private let state = Locked((hasBegun: false, isThere: false))

    func begin() {
        self.state.withLock { $0.hasBegun = true }
        self.slot.fire()
    }

    var info: BlobInfo? { self.state.withLock { $0.hasBegun } ? BlobInfo() : nil }
    var neverBlocks: Bool { true }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult {
        let (hasBegun, isThere) = self.state.withLock { state in
            defer { state.isThere = state.hasBegun && !state.isThere }
            return state
        }
        if isThere { output.append(0) } else if hasBegun { self.slot.fire() }
        return isThere ? .bytes : .notYet
    }
}
