import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DataSourceDataTests {
    private let bytes = Self.pattern
    private static let pattern = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) })

    private func data(_ source: any BlobInputStreamDataSource, upTo limit: Int) throws -> Data {
        try source.data(upTo: limit)
    }

    @Test(arguments: [0, 1, 127, 128 * 1024, 128 * 1024 + 1, 200_000]) func aBlobOfTheLimitOrLessIsTaken(
        byteCount: Int
    ) throws {
        let source = MemorySource(bytes.prefix(byteCount))
        #expect(try self.data(source, upTo: byteCount) == bytes.prefix(byteCount))
        #expect(try self.data(source, upTo: byteCount + 1) == bytes.prefix(byteCount))
        #expect(try self.data(source, upTo: .max) == bytes.prefix(byteCount))
    }

    @Test(arguments: [1, 127, 128 * 1024, 128 * 1024 + 1, 200_000]) func aLargerBlobIsTooMuch(byteCount: Int) throws {
        let source = MemorySource(bytes.prefix(byteCount))
        let error = #expect(throws: BlobError.self) { try self.data(source, upTo: byteCount - 1) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.byteOffset == Int64(byteCount - 1))
        #expect(error?.message.contains("\(byteCount - 1)") == true)
    }

    @Test func anEndlessSourceIsReadNoFurtherThanTheLimit() throws {
        let read = Recorder<Int64>()
        let source = ClosureSource { offset, output, _ in
            let count = min(output.freeCapacity, 10)
            output.append(repeating: 1, count: count, as: UInt8.self)
            read.append(offset + Int64(count))
        }
        #expect(codeThrown { try self.data(source, upTo: 25) } == .limitExceeded)
        #expect(read.values.last == 26)
    }

    @Test func theAsynchronousFormGivesTheSame() async throws {
        #expect(try await MemorySource(bytes).data(upTo: 200_000) == bytes)
        #expect(await asyncCodeThrown { try await MemorySource(bytes).data(upTo: 199_999) } == .limitExceeded)
    }

    @Test func cancellingTheTaskEndsTheAsynchronousForm() async {
        let reader = PlayedStream()
        let task = Task { await asyncCodeThrown { try await reader.data(upTo: 10) } }
        await reader.reads.values(count: 1)
        let watch = CancellationWatch()
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await watch.isInTime)
        await reader.closes.values(count: 1)
    }
}
