import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore

/// The content behind an interruption: shorter, longer, of unknown length, or without random access.
@Suite(.timeLimit(.minutes(5))) struct RetryContentTests {
    private let content = makeContent(50_000)

    /// Known lengths are compared before a byte; unknown ones at the end.
    @Test(arguments: [
        (40_000, true, 6000), (60_000, true, 6000), (5000, true, 6000), (5000, false, 6000), (40_000, false, 40_000),
        (60_000, false, 50_000),
    ])
    func contentOfAnotherLengthIsChangedAlsoWhenItIsUnchecked(
        byteCount: Int, isKnown: Bool, deliveredCount: Int
    ) async throws {
        let (old, other) = (self.content, makeContent(60_000).prefix(byteCount))
        let count = Locked(0)
        let changing = AlternatingSource {
            let isFirst = count.exchange(1) == 0
            let source: any BlobInputStreamDataSource = MemorySource(isFirst ? old : Array(other))
            return isFirst || isKnown ? source : DoubtfulSource(base: source)
        }
        var rules = BlobRetry.impatient
        rules.identity = .unchecked
        // The second reader does not fail.
        let flaky = AlternatingSource { () -> any BlobInputStreamDataSource in
            count.withLock { $0 } == 0 ? FlakySource(changing, failingAfter: 6000) : changing
        }
        let found = try await readingOutcome(flaky.layered { $0.retry = rules })
        #expect(found.error?.code == .changed, "\(String(describing: found.error))")
        #expect(found.bytes.count == deliveredCount)
    }

    /// A filter that is read again checks the bytes that come then, which must be those that were delivered.
    @Test(arguments: [BlobValidator.strong("1"), .weak("1")])
    func allBytesBeforeAnInterruptionAreComparedWithoutRandomAccess(_ validator: BlobValidator) async throws {
        let wrong = self.content.flipping(at: 100)
        let openings = Locked(0)
        let source = AlternatingSource { [content, wrong] in
            let isFirst = openings.exchange(1) == 0
            let base = DoubtfulSource(base: MemorySource(isFirst ? wrong : content, validator: validator))
            return isFirst ? FlakySource(base, failingAfter: 20_000) : base
        }
        let found = try await readingOutcome(source.layered { $0.retry = .impatient })
        #expect(found.error?.code == .changed && found.bytes == Array(wrong[..<20_000]))
    }

    @Test func bytesInAnyPiecesHaveTheSameHash() {
        let pieces = [1, 7, 8, 9, 64, 4096, 50_000].map { byteCount in
            var hash = Hasher()
            for start in stride(from: 0, to: self.content.count, by: byteCount) {
                self.content[start..<min(start + byteCount, self.content.count)].withUnsafeBytes {
                    hash.combine(bytes: $0)
                }
            }
            return hash.finalize()
        }
        #expect(pieces.allSatisfy { $0 == pieces[0] })
        for index in [0, 7, 8, 49_999] {
            var (hash, other) = (Hasher(), self.content)
            other[index] ^= 0x80
            other.withUnsafeBytes { hash.combine(bytes: $0) }
            #expect(hash.finalize() != pieces[0])
        }
    }

    @Test func anEarlyEndIsResumedOnlyIfItsSourceCallsItTransient() async throws {
        for isTransient in [true, false] {
            let openings = Recorder<Int64>()
            let cut = BlobError(.truncated, "The connection ended.", isTransient: isTransient)
            let flaky = FlakySource(
                MemorySource(self.content, validator: .strong("1")), failingAfter: 20_000, with: cut,
                openings: openings)
            let found = try await readingOutcome(flaky.layered { $0.retry = .impatient })
            #expect(found.error?.code == (isTransient ? nil : .truncated))
            #expect(found.bytes == (isTransient ? self.content : Array(self.content[..<20_000])))
            #expect(openings.values == (isTransient ? [0, 20_000, 40_000] : [0]))
        }
    }

    /// The bytes before are read again and dropped, which an interruption after a number of bytes would never survive:
    /// it comes after a number of all bytes that were read.
    @Test(arguments: [BlobValidator.strong("1"), .weak("1")])
    func aSourceOfUnknownLengthWithoutRandomAccessIsResumed(_ validator: BlobValidator) async throws {
        let base = DoubtfulSource(base: MemorySource(self.content, validator: validator))
        let count = Locked(0)
        let flaky = AlternatingSource {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return FlakySource(base, failingAfter: 9000 * number)
        }
        let events = Recorder<BlobEvent>()
        let found = try await readingOutcome(
            flaky.layered { $0.retry = .impatient }, at: 10, BlobContext(eventSink: { events.append($0) }))
        #expect(found.error == nil && found.bytes == Array(self.content[10...]))
        #expect(events.values.count { $0.kind == .recovered } >= 2)
    }
}

/// A source that does not know its length and has no random access.
private struct DoubtfulSource: ForwardingSource {
    let base: any BlobInputStreamDataSource

    func info(over base: BlobInfo) -> BlobInfo { BlobInfo(validator: base.validator) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let base = try self.base.open(matching: opening.validator, context: opening.context)
        return .inspected(base, Doubt(), startingAt: 0)
    }
}

private struct Doubt: BlobInspector {
    func info(of base: BlobInfo) -> BlobInfo { BlobInfo(validator: base.validator) }
    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
}
