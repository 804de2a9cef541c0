import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore

/// The time between two attempts, and what may end it.
@Suite(.timeLimit(.minutes(5))) struct RetryWaitingTests {
    private let content = makeContent(50_000)

    /// An error after which the source asks for a pause.
    private static func cut(_ pause: Duration) -> BlobError {
        var error = BlobError(.unavailable, "The line was cut.")
        error.retryDelay = pause
        return error
    }

    private func flaky(_ pause: Duration = .zero, failingAfter byteCount: Int = 20_000) -> FlakySource {
        FlakySource(
            MemorySource(self.content, validator: .strong("1")), failingAfter: byteCount, with: Self.cut(pause))
    }

    @Test func aPauseThatTheSourceAsksForIsMade() async throws {
        let start = ContinuousClock.now
        let found = try await readingOutcome(self.flaky(.milliseconds(30)).layered { $0.retry = .impatient })
        #expect(found.error == nil && found.bytes == self.content)
        #expect(ContinuousClock.now - start >= .milliseconds(60))
    }

    @Test func aPauseThatEndsAfterTheDeadlineIsNotBegun() async throws {
        let context = BlobContext(deadline: .now + .seconds(600))
        let start = ContinuousClock.now
        let found = try await readingOutcome(self.flaky(.seconds(1000)).layered { $0.retry = .impatient }, context)
        #expect(found.error?.message == Self.cut(.zero).message && found.bytes.count == 20_000)
        let failing = AlternatingSource { throw Self.cut(.seconds(1000)) }
        let error = try await onThread {
            #expect(throws: BlobError.self) { try failing.layered { $0.retry = .impatient }.info(context) }
        }
        #expect(error?.code == .unavailable)
        #expect(ContinuousClock.now - start < .seconds(500))
    }

    @Test func aFailureAfterTheDeadlineIsATimeOut() {
        var failures = RetryFailures(.impatient)
        let fault = BlobError(.unavailable, "The line was cut.", isTransient: true)
        let error = #expect(throws: BlobError.self) {
            try failures.delay(after: fault, BlobContext(deadline: .now - .seconds(1)))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func aRandomDelayLeavesTimeForTheAttempt() throws {
        let rules = BlobRetry(
            maximumFailureCount: 200, maximumDelays: .seconds(1_000_000)...(.seconds(1_000_000)))
        var failures = RetryFailures(rules)
        let context = BlobContext(deadline: .now + .seconds(100))
        let delays = try (0..<100).map { _ in try failures.delay(after: Self.cut(.zero), context) }
        #expect(delays.allSatisfy { $0 >= .zero && $0 <= .seconds(50) })
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func eachRecoveryOfAStreamIsObserved(_ mode: BlobStreamMode) async throws {
        let recoveries = Recorder<Int>()
        let losses = Recorder<Bool>()
        let source = self.flaky(failingAfter: 9000).layered { $0.retry = .impatient }
        let bytes = try await onThread {
            let stream = BlobInputStream(source, mode: mode)
            let tokens = [
                stream.state.observe(\.recoveryCount) { recoveries.append($0.new ?? -1) },
                stream.state.observe(\.isRecovering) { losses.append($0.new ?? false) },
            ]
            defer { withExtendedLifetime(tokens) {} }
            stream.open()
            let bytes = stream.readAll()
            // Events are delivered on another thread.
            recoveries.waitForValues(count: 5)
            losses.waitForValues(count: 10)
            stream.close()
            return bytes
        }
        #expect(bytes == self.content)
        #expect(recoveries.values == [1, 2, 3, 4, 5])
        #expect(losses.values == [true, false, true, false, true, false, true, false, true, false])
    }

    @Test func theFactsAreAskedForAgainAndThatIsAnEvent() async throws {
        let (count, events) = (Locked(0), Recorder<BlobEvent>())
        let source = AlternatingSource { [content] in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number > 2 else { throw Self.cut(.zero) }
            return MemorySource(content)
        }
        let layered = source.layered { $0.retry = .impatient }
        let info = try await onThread { try layered.info(BlobContext(eventSink: { events.append($0) })) }
        #expect(info.byteCount == 50_000)
        #expect(events.values.map(\.kind) == [.recovering, .recovering, .recovered])
    }

    /// Asking an event-driven source for its facts must not block, unless the job may.
    @Test func theFactsOfASourceThatNeverBlocksAreAskedForOnce() async throws {
        let count = Locked(0)
        let source = DripSource(
            AlternatingSource {
                count.withLock { $0 += 1 }
                throw Self.cut(.zero)
            }
        ).layered { $0.retry = .impatient }
        for (context, expected) in [(BlobContext(), 1), (BlobContext().blocking, 1 + 3)] {
            _ = try await onThread { #expect(throws: BlobError.self) { try source.info(context) } }
            #expect(count.withLock { $0 } == expected)
        }
    }

    @Test func aCancellationEndsAPauseOfChunks() async throws {
        let context = BlobContext()
        var watched = context
        watched.eventSink = { if $0.kind == .recovering { context.cancellation.cancel() } }
        let source = self.flaky(.seconds(1000)).layered { $0.retry = .impatient }
        var byteCount = 0
        do {
            for try await chunk in source.chunks(ofAtMost: 700, context: watched) { byteCount += chunk.count }
            Issue.record("The chunks came to their end.")
        } catch {
            #expect(error.code == .cancelled && byteCount == 20_000)
        }
    }

    @Test func closingEndsAPause() async throws {
        let openings = Recorder<Int64>()
        let flaky = FlakySource(
            MemorySource(self.content, validator: .strong("1")), failingAfter: 100, with: Self.cut(.milliseconds(20)),
            openings: openings)
        let source = flaky.layered { $0.retry = .impatient }
        let isAwake = Latch()
        try await onThread {
            let reader = try source.open()
            #expect(try read(reader).count == 100)
            #expect(try Data(readingAtMost: 1, from: reader, waits: false).isEmpty)
            reader.whenReadable(BlobWaker { isAwake.open() })
            reader.close()
            #expect(throws: BlobError.self) { try read(reader) }
            // Another timer, which ends later.
            let later = Latch()
            let timer = BlobContext().wake(after: .milliseconds(60), BlobWaker { later.open() })
            later.wait()
            timer.cancel()
        }
        #expect(!isAwake.isOpen && openings.values == [0])
    }

    /// Also while the reader waits, and when the first reader of a source that may block does not block.
    @Test func theReaderNeverBlocksExactlyIfItsSourceDoes() async throws {
        let memory = MemorySource(self.content, validator: .strong("1"))
        for (base, neverBlocks) in [(memory, true), (RefiningSource(base: memory), false)]
            as [(
                any BlobInputStreamDataSource, Bool
            )]
        {
            let source = FlakySource(base, failingAfter: 100, with: Self.cut(.seconds(1000)))
                .layered { $0.retry = .impatient }
            try await onThread {
                let reader = try source.open()
                #expect(reader.neverBlocks == neverBlocks)
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 200, alignment: 1)
                defer { buffer.deallocate() }
                for expected in [BlobReadResult.bytes, .notYet] {
                    var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                    let result = try reader.read(into: &output)
                    #expect(result == expected && reader.neverBlocks == neverBlocks)
                }
                reader.close()
            }
        }
    }

    /// Streams and chunks choose at the opening where they read.
    @Test func aReaderThatRefinesItsSourceIsResumedInEveryConsumer() async throws {
        let base = RefiningSource(base: MemorySource(self.content, validator: .strong("1")))
        let source = FlakySource(base, failingAfter: 9000).layered { $0.retry = .impatient }
        var bytes: [UInt8] = []
        for try await chunk in source.chunks(ofAtMost: 700) { bytes += chunk }
        #expect(bytes == self.content)
        let streamed = try await onThread {
            let stream = BlobInputStream(source, mode: .asynchronous)
            stream.open()
            return stream.readAll(by: 700)
        }
        #expect(streamed == self.content)
    }
}
