import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ProgressTests {
    @Test func theProgressFollowsTheBytes() throws {
        let progress = Progress(totalUnitCount: 0)
        let reader = try MemorySource(0..<100).reporting(to: progress).open(at: 10)
        #expect(progress.totalUnitCount == 100)
        #expect(progress.completedUnitCount == 10)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 40, alignment: 1)
        defer { buffer.deallocate() }
        for expected: Int64 in [50, 90, 100, 100] {
            _ = try reader.readBlocking(into: buffer)
            #expect(progress.completedUnitCount == expected)
        }
        #expect(progress.isFinished)
    }

    @Test func anUnknownLengthIsIndeterminate() throws {
        let progress = Progress(totalUnitCount: 0)
        let reader = try ClosureSource { _, _, _ in }.reporting(to: progress).open()
        #expect(progress.isIndeterminate)
        reader.close()
    }

    @Test(arguments: [false, true]) func aLengthThatBecomesKnownLateIsReported(isLayered: Bool) throws {
        let progress = Progress(totalUnitCount: 0)
        let drip = DripSource(MemorySource(0..<100), pieceByteCount: 30)
        let source: any BlobInputStreamDataSource = isLayered ? drip.slice(10..<90) : drip
        let byteCount: Int64 = isLayered ? 80 : 100
        let reader = try source.reporting(to: progress).open(at: 20)
        #expect(progress.completedUnitCount == 20)
        #expect(try readAll(reader).count == Int(byteCount) - 20)
        #expect(progress.totalUnitCount == byteCount)
        #expect(progress.completedUnitCount == byteCount)
    }

    @Test func cancellingTheProgressEndsABlockedRead() async throws {
        let progress = Progress(totalUnitCount: 0)
        let played = PlayedStream()
        let source = played.reporting(to: progress)
        let task = Task { await asyncCodeThrown { try await source.data(upTo: 10) } }
        await played.reads.values(count: 1)
        let watch = CancellationWatch()
        progress.cancel()
        #expect(await task.value == .cancelled)
        #expect(await watch.isInTime)
    }

    @Test func aCancelledProgressOpensNothing() throws {
        let progress = Progress(totalUnitCount: 0)
        progress.cancel()
        #expect(codeThrown { try MemorySource([1]).reporting(to: progress).open() } == .cancelled)
    }

    @Test func theJobMayBeCancelledWithoutTheProgress() throws {
        let (progress, context) = (Progress(totalUnitCount: 0), BlobContext())
        let reader = try MemorySource([1]).reporting(to: progress).open(context: context)
        context.cancellation.cancel()
        var byte: UInt8 = 0
        #expect(
            codeThrown { try withUnsafeMutableBytes(of: &byte) { try reader.readBlocking(into: $0) } } == .cancelled)
        #expect(!progress.isCancelled)
    }
}
