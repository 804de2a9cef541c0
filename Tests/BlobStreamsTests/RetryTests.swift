import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore

@Suite(.timeLimit(.minutes(5))) struct RetryTests {
    private let content = makeContent(50_000)

    private func memory(_ validator: BlobValidator? = .weak("1")) -> any BlobInputStreamDataSource {
        MemorySource(self.content, validator: validator)
    }

    @Test func manyInterruptionsGiveTheBytesOnceAndAreEvents() async throws {
        let (openings, events) = (Recorder<Int64>(), Recorder<BlobEvent>())
        for identity in [BlobRetry.Identity.strong, .compared, .unchecked] {
            var rules = BlobRetry.impatient
            rules.identity = identity
            let validator = identity == .strong ? BlobValidator.strong("1") : .weak("1")
            let flaky = FlakySource(self.memory(validator), failingAfter: 5000, openings: openings)
            let found = try await readingOutcome(
                flaky.layered { $0.retry = rules }, at: 10, BlobContext(eventSink: { events.append($0) }))
            #expect(found.error == nil && found.bytes == Array(self.content[10...]), "\(identity)")
        }
        // With weak validators, the last bytes are read again.
        #expect(openings.values.contains(10 + 5000) && openings.values.contains(10 + 5000 - 4096))
        let recoveries = events.values.filter { $0.kind == .recovered }.map(\.value)
        let interruptionCount = events.values.filter { $0.kind == .recovering }.count
        #expect(recoveries.count == interruptionCount && recoveries.first == 10 + 5000)
    }

    @Test func failuresInARowAreLimitedAndBytesBetweenThemEndTheRow() async throws {
        let openings = Recorder<Int64>()
        let cut = BlobError(.unavailable, "The line was cut.")
        let dead = FlakySource(self.memory(), failingAfter: 0, with: cut, openings: openings)
        let found = try await readingOutcome(dead.layered { $0.retry = .impatient })
        #expect(found.error?.message == cut.message && openings.values == [0, 0, 0])
        var rules = BlobRetry.impatient
        rules.failureBudget = 5
        let flaky = FlakySource(self.memory(.strong("1")), failingAfter: 1000, with: cut)
        let cutOff = try await readingOutcome(flaky.layered { $0.retry = rules })
        #expect(cutOff.error?.message == cut.message && cutOff.bytes == Array(self.content[..<5000]))
    }

    @Test func permanentErrorsAndSourcesForOneOpeningAreNotTriedAgain() async throws {
        let openings = Recorder<Int64>()
        let broken = FlakySource(
            self.memory(), failingAfter: 100, with: BlobError(.corrupted, "Broken."), openings: openings)
        let found = try await readingOutcome(broken.layered { $0.retry = .impatient })
        #expect(found.error?.code == .corrupted && openings.values == [0] && found.bytes.count == 100)
        let once = FlakySource(
            SequentialSource(info: BlobInfo(validator: .strong("1"))) { _ in
                try self.memory(.strong("1")).makeBody(BlobOpening(context: BlobContext()))
            }, failingAfter: 100)
        #expect(try await readingOutcome(once.layered { $0.retry = .impatient }).error?.code == .unavailable)
    }

    /// The content changes at the first interruption.
    @Test(arguments: [
        (BlobValidator.weak("1"), BlobValidator.weak("1"), BlobRetry.Identity.compared, BlobError.Code.changed),
        (.weak("1"), .weak("2"), .compared, .changed), (.strong("1"), .strong("2"), .compared, .changed),
        (.weak("1"), .weak("1"), .strong, .unavailable),
    ])
    func otherContentIsNeverResumed(
        _ before: BlobValidator, _ after: BlobValidator, _ identity: BlobRetry.Identity, _ code: BlobError.Code
    ) async throws {
        let old = self.content
        let other = old.map { ~$0 }
        let count = Locked(0)
        let changing = AlternatingSource {
            count.withLock { count in
                count += 1
                return count == 1 ? MemorySource(old, validator: before) : MemorySource(other, validator: after)
            }
        }
        var rules = BlobRetry.impatient
        rules.identity = identity
        let events = Recorder<BlobEvent>()
        let found = try await readingOutcome(
            FlakySource(changing, failingAfter: 6000).layered { $0.retry = rules },
            BlobContext(eventSink: { events.append($0) }))
        #expect(found.error?.code == code && found.bytes == Array(old[..<6000]))
        #expect(events.values.contains(BlobEvent(.invalidated, 6000)) == (code == .changed))
    }

    @Test func whatHasNoValidatorIsResumedOnlyByName() async throws {
        let nameless = AlternatingSource { [content] in
            ClosureSource(info: BlobInfo(byteCount: 50_000, isRandomAccess: true)) { offset, output, _ in
                content[Int(offset)...].withUnsafeBytes { _ = output.append(contentsOf: $0) }
            }
        }
        let flaky = FlakySource(nameless, failingAfter: 20_000)
        #expect(try await readingOutcome(flaky.layered { $0.retry = .impatient }).error?.code == .unavailable)
        var rules = BlobRetry.impatient
        rules.identity = .unchecked
        let found = try await readingOutcome(flaky.layered { $0.retry = rules })
        #expect(found.error == nil && found.bytes == self.content)
    }

    @Test func anOpeningIsTriedAgainToo() async throws {
        let count = Locked(0)
        let source = AlternatingSource { [content] in
            let isFirst = count.withLock { count in
                count += 1
                return count < 3
            }
            guard !isFirst else { throw BlobError(.unavailable, "Not yet.") }
            return MemorySource(content, validator: .strong("1"))
        }
        let found = try await readingOutcome(source.layered { $0.retry = .impatient })
        #expect(found.error == nil && found.bytes == self.content)
    }

    @Test func aDelayEndsWithTheJob() async throws {
        let context = BlobContext()
        let slow = BlobRetry(maximumDelays: .seconds(1000)...(.seconds(1000)))
        let flaky = FlakySource(self.memory(), failingAfter: 100)
        var watched = context
        watched.eventSink = { if $0.kind == .recovering { context.cancellation.cancel() } }
        let found = try await readingOutcome(flaky.layered { $0.retry = slow }, watched)
        #expect(found.error?.code == .cancelled && found.bytes.count == 100)
    }

    @Test func delaysAreRandomBelowALimitThatDoubles() {
        let rules = BlobRetry(maximumDelays: .seconds(1)...(.seconds(10)))
        var random = SplitMix64(seed: 1)
        for (count, limit) in [(1, 1), (2, 2), (4, 8), (5, 10), (1_000_000, 10)] {
            let delays = (0..<200).map { _ in rules.delay(afterFailures: count, using: &random) }
            #expect(delays.allSatisfy { $0 >= .zero && $0 <= .seconds(limit) })
            #expect((delays.max() ?? .zero) > .seconds(limit) * 0.8 && (delays.min() ?? .zero) < .seconds(limit) * 0.2)
        }
    }

    @Test func theDelayThatASourceAsksForIsKept() throws {
        var failures = RetryFailures(.impatient)
        var error = BlobError(.unavailable, "Later.")
        error.retryDelay = .seconds(7)
        let delay = try failures.delay(after: error, BlobContext())
        #expect(delay == .seconds(7))
    }
}
