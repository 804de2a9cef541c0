import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct AsyncSequenceSourceTests {
    private struct Failure: Error {}

    /// Some chunks, an empty one among them, then the end or an error.
    private func chunks(failing: Bool = false) -> AsyncThrowingStream<[UInt8], any Error> {
        AsyncThrowingStream { continuation in
            for chunk in [[1, 2, 3], [], [4], [5, 6]] as [[UInt8]] { continuation.yield(chunk) }
            continuation.finish(throwing: failing ? Failure() : nil)
        }
    }

    private func bytes() -> AsyncStream<UInt8> {
        AsyncStream { continuation in
            for byte: UInt8 in 1...6 { continuation.yield(byte) }
            continuation.finish()
        }
    }

    @Test func chunksComeInOrder() async throws {
        let source = AsyncSequenceSource(chunks: { self.chunks() })
        #expect(try await source.data(upTo: 100) == Data(1...6))
    }

    @Test func bytesComeInOrder() async throws {
        let source = AsyncSequenceSource(bytes: { self.bytes() })
        #expect(try await source.data(upTo: 100) == Data(1...6))
    }

    @Test func manyBytesPassThroughThePipe() async throws {
        let byteCount = 3 * BlobPipe.defaultCapacity + 5
        let source = AsyncSequenceSource(chunks: {
            AsyncStream { continuation in
                continuation.yield(Data(repeating: 7, count: byteCount))
                continuation.finish()
            }
        })
        #expect(try await source.data(upTo: byteCount) == Data(repeating: 7, count: byteCount))
    }

    @Test func withoutARepeatableSequenceThereIsOnePass() async throws {
        let source = AsyncSequenceSource(chunks: { self.chunks() })
        #expect(source.traits == .neverBlocks)
        _ = try await source.data(upTo: 100)
        #expect(codeThrown { try source.open() } == .unsupported)
    }

    @Test func aRepeatableSequenceIsReadAgainAndSideBySide() async throws {
        let source = AsyncSequenceSource(isRepeatable: true, bytes: { self.bytes() })
        #expect(source.traits == [.neverBlocks, .repeatable, .concurrentReaders])
        async let first = source.data(upTo: 100)
        async let second = source.data(upTo: 100)
        #expect(try await [first, second] == [Data(1...6), Data(1...6)])
    }

    @Test(arguments: [0, 1, 3, 6], [true, false]) func anOffsetDropsTheBytesBefore(
        offset: Int, isRepeatable: Bool
    ) async throws {
        let source = AsyncSequenceSource(isRepeatable: isRepeatable, chunks: { self.chunks() })
        var all = Data()
        for try await chunk in source.chunks(at: Int64(offset)) { all += chunk }
        #expect(all == Data(1...6).dropFirst(offset))
    }

    @Test func anErrorComesAfterTheBytesBeforeIt() async throws {
        let source = AsyncSequenceSource(chunks: { self.chunks(failing: true) })
        var all = Data()
        let error = await #expect(throws: BlobError.self) {
            for try await chunk in source.chunks(ofAtMost: 1) { all += chunk }
        }
        #expect(all == Data(1...6))
        #expect(error?.cause is Failure)
        #expect(error?.layers == ["AsyncSequenceSource"])
    }

    @Test func closingTheReaderCancelsTheSequence() async throws {
        let (isAsked, isCancelled) = (Latch(), Latch())
        let source = AsyncSequenceSource(chunks: {
            AsyncStream<Data> {
                isAsked.open()
                await withTaskCancellationHandler {
                    await isCancelled.opened()
                } onCancel: {
                    isCancelled.open()
                }
                return nil
            }
        })
        let reader = try source.open()
        await isAsked.opened()
        reader.close()
        await isCancelled.opened()
    }

    @Test func aByteCountThatIsNotKeptIsMisbehaviour() async throws {
        for byteCount: Int64 in [5, 7] {
            let source = AsyncSequenceSource(info: BlobInfo(byteCount: byteCount), chunks: { self.chunks() })
            #expect(await asyncCodeThrown { try await source.data(upTo: 100) } == .misbehavingPlugin)
        }
    }
}
