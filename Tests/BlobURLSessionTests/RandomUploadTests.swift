import BlobStreams
import BlobTestSupport
import BlobURLSession
import Foundation
import Testing

extension URLSessionTests {
    @Suite(.serialized) struct RandomUploadTests {
        /// Sessions of Linux crash when a task ends while it is being cancelled and its cache is still being asked.
        @Test func anUploadMayBeCancelledAtAnyTime() async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let uploader = URLSessionUploader()
            for number in 0..<2000 {
                let context = BlobContext()
                DispatchQueue.global().async {
                    // Spinning, as giving the processor away takes for ever when others want it.
                    var rest = (number % 100) * (number % 7) * 200
                    while rest > 0 { rest -= 1 }
                    context.cancellation.cancel()
                }
                let error = await uploadError {
                    try await uploader.upload(MemorySource(pattern(1000)), with: put(server.url()), context: context)
                }
                #expect(error == nil || error?.code == .cancelled)
            }
        }

        /// As ``MiniatureTests``, with the session and a server.
        @Test func noUploadEndsBeforeItsEnd() async throws {
            let seed = randomSeed()
            print("seed of the uploads: \(seed)")
            let server = try HTTPServer()
            defer { server.stop() }
            let uploader = URLSessionUploader()
            for number in 0..<400 {
                let round = RandomRound(seed: seed &+ UInt64(number))
                round.start()
                let error = await uploadError {
                    // The path tells the rounds apart: the server may note the end of one after the next began.
                    try await uploader.upload(
                        round.source, with: put(server.url("/\(number)")), context: round.context)
                }
                let isExpected = error == nil ? round.expected != .failure : round.expected != .success
                if !isExpected { Issue.record("\(round.description()): \(error.map { "\($0)" } ?? "success")") }
                guard error == nil else { continue }
                let request = await server.requests.first { $0.path == "/\(number)" }
                if request?.brought(round.bytes) != true { Issue.record("\(round.description()): not whole") }
            }
            for request in server.requests.values where request.isBodyComplete {
                let number = try #require(UInt64(request.path.dropFirst()))
                let bytes = RandomRound(seed: seed &+ number).bytes
                if !request.brought(bytes) { Issue.record("upload \(number) of seed \(seed): complete, and not whole") }
            }
        }
    }
}
