import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct BlobChunksTests {
    private let bytes = Data((0..<100).map { UInt8($0) })

    private func collect(_ chunks: BlobSequence<Data, BlobError>) async throws -> [Data] {
        var all: [Data] = []
        for try await chunk in chunks { all.append(chunk) }
        return all
    }

    /// More than the pipe holds: the write ends when the reader is closed, which may be a moment after the iteration.
    private func expectClosed(_ pipe: BlobPipe) async {
        #expect(await asyncCodeThrown { try await pipe.write(Data(count: 2 * BlobPipe.defaultCapacity)) } == .closed)
    }

    // MARK: Chunks

    @Test(arguments: [1, 2, 3, 7, 64, 99, 100, 101, 4096]) func chunksHaveTheirSize(byteCount: Int) async throws {
        let chunks = try await self.collect(MemorySource(bytes).chunks(ofAtMost: byteCount))
        #expect(Data(chunks.joined()) == bytes)
        #expect(chunks.dropLast().allSatisfy { $0.count == byteCount })
        #expect(chunks.count == (bytes.count + byteCount - 1) / byteCount)
    }

    @Test func chunksStartAtAnOffset() async throws {
        let source = MemorySource(bytes)
        #expect(try await Data(self.collect(source.chunks(at: 37)).joined()) == bytes[37...])
        #expect(try await self.collect(source.chunks(at: 100)).isEmpty)
        #expect(await asyncCodeThrown { try await self.collect(source.chunks(at: 101)) } == .invalidArgument)
    }

    @Test func anEmptySourceHasNoChunks() async throws {
        #expect(try await self.collect(MemorySource([]).chunks()).isEmpty)
    }

    @Test func eachIterationIsAPassOfItsOwn() async throws {
        let chunks = MemorySource(bytes).chunks(ofAtMost: 30)
        #expect(try await self.collect(chunks) == self.collect(chunks))
    }

    @Test func afterTheEndAndAfterAnErrorThereIsNil() async throws {
        var atEnd = MemorySource([1]).chunks().makeAsyncIterator()
        #expect(try await atEnd.next() == Data([1]))
        #expect(try await atEnd.next() == nil)
        #expect(try await atEnd.next() == nil)
        var failing = ClosureSource { _, _, _ in throw BlobError(.refused, "No.") }.chunks().makeAsyncIterator()
        await #expect(throws: BlobError.self) { try await failing.next() }
        #expect(try await failing.next() == nil)
    }

    @Test func aSourceThatBlocksIsReadAheadByAFewWindows() async throws {
        let reads = Recorder<Int64>()
        let source = ClosureSource(info: BlobInfo(byteCount: 1000)) { offset, output, _ in
            reads.append(offset)
            output.append(repeating: 1, count: 10, as: UInt8.self)
        }
        var iterator = source.chunks(ofAtMost: 10).makeAsyncIterator()
        #expect(reads.values.isEmpty, "The first step opens and reads.")
        for number in 1...5 {
            _ = try await iterator.next()
            #expect(reads.values.count >= number && reads.values.count <= number + 3)
        }
    }

    @Test func whatNeverBlocksIsNotReadAhead() async throws {
        let source = CountedSource(MemorySource(Data(count: 1000)))
        var iterator = source.chunks(ofAtMost: 10).makeAsyncIterator()
        for number in 1...5 {
            _ = try await iterator.next()
            #expect(source.readCounts.values.count == number)
        }
    }

    @Test func leavingTheLoopClosesTheReader() async throws {
        let pipe = BlobPipe()
        try await pipe.write(bytes)
        for try await chunk in pipe.source.chunks(ofAtMost: 10) {
            #expect(chunk == bytes[..<10])
            break
        }
        await self.expectClosed(pipe)
    }

    @Test func theEndClosesTheReaderBeforeTheIteratorGoes() async throws {
        let reader = PlayedStream(BlobReaderState(isOpenCompleted: true, isAtEnd: true))
        var iterator = reader.chunks().makeAsyncIterator()
        #expect(try await iterator.next() == nil)
        await reader.closes.values(count: 1)
        #expect(try await iterator.next() == nil)
    }

    // MARK: Cancelling

    @Test func cancellingTheTaskEndsAnIterationWhoseSourceIsStuck() async throws {
        let source = StuckSource()
        let task = Task { await asyncCodeThrown { try await self.collect(source.chunks()) } }
        await source.reads.values(count: 1)
        let watch = CancellationWatch()
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await watch.isInTime)
        // The reader is in use until its call returns; then it is closed.
        #expect(source.closes.values.isEmpty)
        source.gate.open()
        await source.closes.values(count: 1)
    }

    @Test func cancellingTheTaskEndsAnIterationThatWaitsForAnEvent() async throws {
        let pipe = BlobPipe()
        let task = Task { await asyncCodeThrown { try await self.collect(pipe.source.chunks()) } }
        let watch = CancellationWatch()
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await watch.isInTime)
    }

    @Test func cancellingTheContextEndsAnIterationThatWaitsForAnEvent() async throws {
        let reader = PlayedStream()
        let context = BlobContext()
        let task = Task { await asyncCodeThrown { try await self.collect(reader.chunks(context: context)) } }
        await reader.reads.values(count: 1)
        let watch = CancellationWatch()
        context.cancellation.cancel()
        #expect(await task.value == .cancelled)
        #expect(await watch.isInTime)
        await reader.closes.values(count: 1)
    }

    @Test func cancellingTheContextEndsAnIterationWhoseSourceIsStuck() async throws {
        let source = StuckSource()
        let context = BlobContext()
        let task = Task { await asyncCodeThrown { try await self.collect(source.chunks(context: context)) } }
        await source.reads.values(count: 1)
        context.cancellation.cancel()
        #expect(await task.value == .cancelled)
        source.gate.open()
        await source.closes.values(count: 1)
    }

    @Test func anIterationOfACancelledTaskOpensNothing() async throws {
        let isCancelled = Latch()
        let source = StuckSource()
        let task = Task { () -> BlobError.Code? in
            await isCancelled.opened()
            return await asyncCodeThrown { try await self.collect(source.chunks()) }
        }
        task.cancel()
        isCancelled.open()
        #expect(await task.value == .cancelled)
        #expect(source.reads.values.isEmpty)
    }

    @Test func afterACancellationNextSaysSoAgain() async throws {
        let context = BlobContext()
        context.cancellation.cancel()
        var iterator = MemorySource(bytes).chunks(context: context).makeAsyncIterator()
        for _ in 0..<2 {
            let error = await #expect(throws: BlobError.self) { try await iterator.next() }
            #expect(error?.code == .cancelled)
        }
    }

    // MARK: Threads

    @Test func stuckReadsDoNotStopOtherTasks() async throws {
        let count = 4 * ProcessInfo.processInfo.activeProcessorCount
        let source = StuckSource()
        let tasks = (0..<count).map { _ in Task { try await self.collect(source.chunks()) } }
        await source.reads.values(count: count)
        // All of them block now, on more threads than there are cores; tasks and other iterations still run.
        #expect(await Task.detached { 1 }.value == 1)
        #expect(try await Data(self.collect(MemorySource(bytes).chunks(ofAtMost: 10)).joined()) == bytes)
        source.gate.open()
        for task in tasks { #expect(try await task.value.isEmpty) }
        await source.closes.values(count: count)
    }

    @Test func waitingForEventsTakesNoThread() async throws {
        // More than the pool has threads: if each took one, the last would never get to its read.
        let count = 600
        let readers = (0..<count).map { _ in PlayedStream() }
        let tasks = readers.map { reader in Task { try await Data(self.collect(reader.chunks()).joined()) } }
        for reader in readers { await reader.reads.values(count: 1) }
        for reader in readers {
            reader.push([1, 2])
            await reader.reads.values(count: 2)
            reader.state.update { $0.isAtEnd = true }
        }
        for task in tasks { #expect(try await task.value == Data([1, 2])) }
    }

    // MARK: Time

    @Test func theIdleLimitEndsAWaitForAnEventAndClosesTheReader() async throws {
        let pipe = BlobPipe()
        let context = BlobContext(idleLimit: .milliseconds(20))
        #expect(await asyncCodeThrown { try await self.collect(pipe.source.chunks(context: context)) } == .timedOut)
        await self.expectClosed(pipe)
    }

    @Test func theDeadlineEndsAWaitForAnEvent() async throws {
        let pipe = BlobPipe()
        let context = BlobContext(deadline: .now.advanced(by: .milliseconds(20)))
        #expect(await asyncCodeThrown { try await self.collect(pipe.source.chunks(context: context)) } == .timedOut)
    }

    @Test func theIdleLimitCountsForEachDemandAlone() async throws {
        // A machine may be too busy to serve even the first demand in time: then it gets more.
        for seconds in [1, 4, 16] {
            guard let chunks = try await self.chunksWithAPauseBetween(idleLimit: .seconds(seconds)) else { continue }
            #expect(chunks == [Data([1]), Data([2])])
            return
        }
        Issue.record("The first demand was never served in time.")
    }

    /// Two chunks, with more than `idleLimit` between the demands; nil when the first of them timed out.
    private func chunksWithAPauseBetween(idleLimit: Duration) async throws -> [Data?]? {
        let news = Recorder<Bool>()  // Reads, and the end of the first demand.
        let reader = PlayedStream(onRead: { _ in news.append(true) })
        let chunks = reader.chunks(context: BlobContext(idleLimit: idleLimit))
        let iteration = Recorder<Result<Data?, any Error>>()
        let mayGoOn = Latch()
        let task = Task {
            var iterator = chunks.makeAsyncIterator()
            for number in 0..<2 {
                do {
                    iteration.append(.success(try await iterator.next()))
                } catch {
                    iteration.append(.failure(error))
                }
                news.append(true)
                if number == 0 { await mayGoOn.opened() }
            }
        }
        // News without bytes within one demand, then bytes.
        await news.values(count: 1)
        reader.state.update { $0.hasBytesAvailable = true }
        await news.values(count: 2)
        reader.push([1])
        let first = await iteration.values(count: 1)
        // While nobody demands anything, more than the idle limit passes: another job is idle for that long, twice.
        if case .success = first[0] {
            for _ in 0..<2 {
                let idle = BlobPipe()
                let context = BlobContext(idleLimit: idleLimit)
                let code = await asyncCodeThrown { try await self.collect(idle.source.chunks(context: context)) }
                #expect(code == .timedOut)
            }
        }
        reader.push([2])
        mayGoOn.open()
        await task.value
        if case .failure(let error) = first[0], BlobError(wrapping: error).code == .timedOut { return nil }
        return try iteration.values.map { try $0.get() }
    }

    // MARK: Events at the worst moment

    /// The state may change between any two looks at it; here it does, at each look in turn.
    @Test(arguments: 1...12) func anErrorIsThrownWheneverItComes(look: Int) async throws {
        let fail: @Sendable (PlayedStream.State) -> Void = { state in
            state.update { $0.error = BlobError(.refused, "No.") }
        }
        let reader = PlayedStream(
            onLook: { count, state in if count == look { fail(state) } },
            onRead: { state in if look == 12 { Task.detached { fail(state) } } })
        let task = Task { await asyncCodeThrown { try await self.collect(reader.chunks()) } }
        let failing = Task {
            await reader.reads.values(count: 1)
            fail(reader.state)
        }
        #expect(await task.value == .refused)
        reader.reads.append(0)  // Where no read came, nothing else lets the task end.
        await failing.value
    }

    @Test(arguments: 1...12) func anEndThatComesTooEarlyIsNoticedWheneverItComes(look: Int) async throws {
        let reader = PlayedStream(
            info: BlobInfo(byteCount: 10),
            onLook: { count, state in if count == look { state.update { $0.isAtEnd = true } } })
        let task = Task { await asyncCodeThrown { try await self.collect(reader.chunks()) } }
        let ending = Task {
            await reader.reads.values(count: 1)
            reader.state.update { $0.isAtEnd = true }
        }
        #expect(await task.value == .misbehavingPlugin)
        reader.reads.append(0)  // Where no read came, nothing else lets the task end.
        await ending.value
    }
}
