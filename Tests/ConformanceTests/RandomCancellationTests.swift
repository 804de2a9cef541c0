import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

/// Cancellations at random bytes, over mixed sources: nothing is left of them.
@Suite(.timeLimit(.minutes(10))) struct RandomCancellationTests {
    /// In a process of its own, whose descriptors, threads and memory are measured.
    @Test func tenThousandCancellationsLeaveNothingBehind() async {
        await #expect(processExitsWith: .success) {
            let seed = UInt64.random(in: 0 ... .max)
            let folder = try TemporaryFolder()
            let bytes = Data(makeContent(200_000))
            let path = try folder.write([UInt8](bytes), to: "data")
            let file = FileSource(path: path)
            try await GzipEncodedSource(file).write(to: folder.url("data.gz"))
            let gzip = GzipSource(FileSource(path: folder.path("data.gz")))
            let sources: [any BlobInputStreamDataSource] = [
                file, gzip, DripSource(file, pieceByteCount: 5000), file.readingAhead(), gzip.readingAhead(),
                ConcatenatedSource([gzip, MemorySource(bytes)]), FaultSource(file, .stall(at: 70_000)),
                gzip.layered {
                    $0.readsAhead = true; $0.retry = BlobRetry()
                },
            ]
            let rounds = 10_000 / 8
            @Sendable func cancelSome(_ count: Int, _ number: Int) throws {
                var random = SplitMix64(seed: seed &+ UInt64(number))
                for _ in 0..<count {
                    let source = sources[Int(random.next() % UInt64(sources.count))]
                    let end = Int.random(in: 0...bytes.count, using: &random)
                    let context = BlobContext()
                    let (isAsynchronous, pieceByteCount) = (
                        Bool.random(using: &random), Int.random(in: 1000...60_000, using: &random)
                    )
                    let late = context.wake(after: .milliseconds(20), BlobWaker { context.cancellation.cancel() })
                    let stream = BlobInputStream(
                        source, mode: isAsynchronous ? .asynchronous : .synchronous, context: context)
                    stream.open()
                    var (buffer, byteCount) = ([UInt8](repeating: 0, count: pieceByteCount), 0)
                    while case let count = stream.read(&buffer, maxLength: pieceByteCount), count > 0 {
                        try #require(byteCount >= bytes.count || buffer[0] == bytes[byteCount], "seed \(seed)")
                        byteCount += count
                        if byteCount >= end { context.cancellation.cancel() }
                    }
                    let code = stream.streamError.map { BlobError(wrapping: $0).code }
                    try #require(
                        code == nil || code == .cancelled, "seed \(seed): \(stream.streamError.debugDescription)")
                    stream.close()
                    late.cancel()
                }
            }
            // What stays for ever is there after some.
            try await onThreads(8) { try cancelSome(100, $0) }
            let before = try await onThread { SettledMeasures() }
            try await onThreads(8) { try cancelSome(rounds, 8 + $0) }
            let after = try await onThread { SettledMeasures() }
            let both: Comment = "seed \(seed): before \(before), after \(after)"
            try #require(after.descriptorCount <= before.descriptorCount, both)
            try #require(after.threadCount <= before.threadCount + 1, both)
            try #require(after.allocatedByteCount - before.allocatedByteCount < 4 << 20, both)
        }
    }
}
