import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore

@Suite(.timeLimit(.minutes(5))) struct LimitLayerTests {
    private let content = makeContent(1000)

    @Test(arguments: [0, 1, 999, 1000, 1001]) func aLongerBlobIsAnErrorAndNoEnd(limit: Int) async throws {
        let content = self.content
        try await onThread {
            for isKnown in [true, false] {
                let info = BlobInfo(byteCount: isKnown ? 1000 : nil, isRandomAccess: true)
                let base = ClosureSource(info: info) { offset, output, _ in
                    content[Int(offset)...].withUnsafeBytes { _ = output.append(contentsOf: $0) }
                }
                let found = ReadingOutcome(base.layered { $0.maximumByteCount = Int64(limit) }, inPiecesOf: 77)
                #expect(found.code == (limit < 1000 ? .limitExceeded : nil))
                #expect(found.bytes == Array(content.prefix(limit < 1000 ? isKnown ? 0 : limit : 1000)))
            }
        }
    }

    @Test func theEndBehindTheLimitIsAnErrorToo() async throws {
        let source = ClosureSource { offset, output, _ in
            if offset < 1000 { output.append(1) }
        }
        let limited = source.layered { $0.maximumByteCount = 999 }
        let error = try await onThread { () throws in
            #expect(throws: BlobError.self) { try readAll(try limited.open(at: 1000)) }
        }
        #expect(error?.code == .limitExceeded)
    }

    /// The time is that of the clock, and at least what the rate allows.
    @Test func aRateIsKeptAndBlocksNoThread() async throws {
        let source = MemorySource(self.content).layered { $0.bytesPerSecond = 5000 }
        #expect(source.traits.contains(.neverBlocks))
        let start = ContinuousClock.now
        let bytes = try await onThread { try readAll(try source.open()) }
        #expect(bytes == self.content)
        // A tenth of a second's bytes come at once.
        #expect(ContinuousClock.now - start >= .milliseconds(100))
    }

    @Test func anAttemptHasItsOwnLimitsOfTime() async throws {
        let memory = MemorySource(self.content, validator: .strong("1"))
        let stalled = FaultSource(memory, .stall(at: 100)).layered { $0.idleLimit = .milliseconds(20) }
        let slow = FaultSource(memory, .delayedBytes(every: .milliseconds(5))).layered {
            $0.timeLimit = .milliseconds(30)
        }
        for source in [stalled, slow] {
            let error = try await onThread {
                #expect(throws: BlobError.self) { _ = try readAll(try source.open()) }
            }
            #expect(error?.code == .timedOut)
        }
    }

    /// Each attempt delivers some bytes before it stalls.
    @Test func aStallIsTriedAgain() async throws {
        let openings = Recorder<Int64>()
        let memory = MemorySource(self.content, validator: .strong("1"))
        let stalling = StallingSource(base: memory, byteCount: 300, openings: openings)
        let source = stalling.layered {
            $0.retry = .impatient
            $0.idleLimit = .milliseconds(20)
        }
        let bytes = try await onThread { try readAll(try source.open()) }
        #expect(bytes == self.content)
        #expect(openings.values == [0, 300, 600, 900])
    }
}

/// A source whose readers stall after a number of bytes each.
private struct StallingSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let byteCount: Int64
    let openings: Recorder<Int64>

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        self.openings.append(opening.byteOffset)
        let end = opening.byteOffset + self.byteCount
        let isLast = try self.base.info(opening.context).byteCount.map { end >= $0 } ?? false
        let source = isLast ? self.base : FaultSource(self.base, .stall(at: end))
        return try source.makeBody(opening)
    }
}
