import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

@Suite struct CollectedRequestTests {
    private static func receive(_ bytes: [UInt8], in request: CollectedRequest) throws(BlobError) {
        try BlobError.wrapping { try bytes.withUnsafeBytes { try request.receive($0) } }
    }

    @Test func thePiecesOfABodyAreAnsweredTogether() async throws {
        let text = try await onThread {
            let request = CollectedRequest(upTo: 4) { RequestAnswer(status: 200, text: "\($0)") }
            for piece: [UInt8] in [[1], [], [2, 3], [4]] { try Self.receive(piece, in: request) }
            return try request.answer().body?.data(upTo: 100)
        }
        #expect(text == Data("[1, 2, 3, 4]".utf8))
    }

    @Test func aLongerBodyIsRefusedWithTheGivenFields() throws {
        let request = CollectedRequest(upTo: 4, refusalFields: [("X-Own", "1")]) { _ in RequestAnswer(status: 200) }
        try Self.receive([1, 2, 3, 4], in: request)
        let error = #expect(throws: BlobError.self) { try Self.receive([5], in: request) }
        #expect(error?.answer.status == 413)
        #expect(error?.answer.fields.first { $0.name == "X-Own" }?.value == "1")
    }

    @Test func anErrorOfTheClosureRefusesTheRequest() async throws {
        let code = await asyncCodeThrown {
            try await onThread {
                try CollectedRequest(upTo: 0) { _ in throw BlobError(.notFound, "No such thing.") }.answer()
            }
        }
        #expect(code == .notFound)
    }

    @Test func anAbandonedRequestIsCancelled() async {
        let status = await withCheckedContinuation { continuation in
            let request = CollectedRequest(upTo: 0) { _ in
                // Only the cancellation ends this sequence.
                let (values, continuation) = AsyncStream<Void>.makeStream()
                for await _ in values {}
                withExtendedLifetime(continuation) {}
                return RequestAnswer(status: 204)
            }
            request.answer { continuation.resume(returning: try? $0.get().status) }
            request.abandon()
        }
        #expect(status == 204)
    }
}
