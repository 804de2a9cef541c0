import BlobCore
import Testing

@testable import BlobTransfer

/// The answers that are requested ahead: their limits of 64 requests and 16 MiB, and the ages of 5 and 30 seconds.
@Suite struct PreparedAnswersTests {
    /// Requests that are never sent.
    private struct NoRequests: RemoteRequests {
        let scheme = "http"

        func makeRequest(
            _ fields: [BlobHTTPField], _ completion: @escaping @Sendable (Result<TransferRequest, BlobError>) -> Void
        ) {}
        func name(_ head: ResponseHead) -> String? { nil }
    }

    private static let mebibyte: Int64 = 1 << 20
    private let start = CompactInstant.now

    private func makeBody(_ range: Range<Int64>) throws -> RemoteBody {
        let body = RemoteBody(
            (range.lowerBound, range.upperBound), isStream: false, NoRequests(), Relocation(),
            classify: { _, _ in .range(range) }, onEnd: { _, _ in })
        _ = try body.begin(ResponseHead())
        return body
    }

    /// Plans ranges, and starts as many requests as there may be.
    private func started(
        _ answers: inout PreparedAnswers, _ ranges: [Range<Int64>], arePieces: Bool = true
    ) throws -> [RemoteBody] {
        answers.plan(ranges, within: nil, arePieces: arePieces)
        var bodies: [RemoteBody] = []
        while let plan = answers.next(at: self.start) {
            try bodies.append(self.makeBody(plan.range))
            answers.add(bodies[bodies.count - 1], for: plan, at: self.start)
        }
        return bodies
    }

    @Test func sixtyFourRequestsAreUnderWay() throws {
        var answers = PreparedAnswers()
        let bodies = try self.started(&answers, (0..<100).map { $0 * Self.mebibyte..<$0 * Self.mebibyte + 1024 })
        #expect(bodies.count == 64)
        bodies[3].end(nil)
        let next = answers.next(at: self.start)
        #expect(next?.range.lowerBound == 64 * Self.mebibyte)
    }

    @Test func sixteenMebibytesAreRequested() throws {
        var answers = PreparedAnswers()
        // Of a long range, the first 16 MiB are requested in pieces of 2 MiB.
        let bodies = try self.started(&answers, [0..<20 * Self.mebibyte, 1 << 30..<(1 << 30) + 1])
        #expect(bodies.map(\.wantedRange.start) == (0..<8).map { $0 * 2 * Self.mebibyte })
        let didRead = answers.didRead(bodies[0], from: 0)
        #expect(didRead)
        let next = answers.next(at: self.start)
        #expect(next?.range.lowerBound == 1 << 30)
    }

    @Test func sixteenPartsAreRequestedAsAWhole() throws {
        var answers = PreparedAnswers()
        let parts = (0..<20).map { $0 * 64 * Self.mebibyte..<($0 + 1) * 64 * Self.mebibyte }
        let bodies = try self.started(&answers, parts, arePieces: false)
        #expect(bodies.map(\.wantedRange.start) == parts.prefix(16).map(\.lowerBound))
        #expect(bodies.map(\.wantedRange.end) == parts.prefix(16).map(\.upperBound))
    }

    @Test func oldAnswersThatNobodyReadsMakeRoom() throws {
        var answers = PreparedAnswers()
        let bodies = try self.started(&answers, (0..<9).map { $0 * 4 * Self.mebibyte..<($0 * 4 + 2) * Self.mebibyte })
        #expect(bodies.count == 8)
        let slot = BlobWakerSlot()
        bodies[0].join(slot)
        let early = answers.next(at: self.start + .seconds(30))
        #expect(early == nil)
        let late = answers.next(at: self.start + .seconds(31))
        #expect(late?.range.lowerBound == 32 * Self.mebibyte)
        let isRead = answers.bodies.count == 1 && answers.bodies[0] === bodies[0]
        #expect(isRead)
    }

    @Test func anAnswerThatWaitsForRoomIsGivenUp() throws {
        var answers = PreparedAnswers()
        let bodies = try self.started(
            &answers, [0..<64 * Self.mebibyte, 1 << 30..<(1 << 30) + 64 * Self.mebibyte], arePieces: false)
        let bytes = [UInt8](repeating: 1, count: 65_536)
        for body in bodies { while bytes.withUnsafeBytes({ body.receive($0) }) {} }
        bodies[0].join(BlobWakerSlot())
        let early = answers.removeStale(at: self.start + .seconds(5))
        #expect(early.isEmpty)
        let stale = answers.removeStale(at: self.start + .seconds(6))
        let isUnread = stale.count == 1 && stale[0] === bodies[1]
        #expect(isUnread)
        #expect(answers.bodies.count == 1)
    }

    /// A part holds 1 MiB while nobody reads it.
    @Test func aPartIsReadAsItComes() throws {
        let body = try self.makeBody(0..<64 * Self.mebibyte)
        let bytes = [UInt8](repeating: 1, count: 65_536)
        var count = 0
        while bytes.withUnsafeBytes({ body.receive($0) }) { count += bytes.count }
        #expect(count == 1 << 20)
    }
}
