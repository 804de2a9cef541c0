import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Each in a process of its own, because what else runs would count too.
@Suite(.timeLimit(.minutes(10))) struct ManyStreamsTests {
    /// More than the pool has threads: what does not block goes on, and what waits for a thread gets one in the end.
    @Test func stalledSourcesStopNothingThatDoesNotBlock() async {
        await #expect(processExitsWith: .success) {
            let (gate, waiting) = (Latch(), Recorder<BlobEvent>())
            let stalled = ClosureSource(info: BlobInfo(byteCount: 3)) { offset, output, _ in
                gate.wait()
                output.append(UInt8(offset))
            }
            let context = BlobContext(eventSink: { if $0.kind == .waitingForThread { waiting.append($0) } })
            let streams = (0..<600).map { _ in BlobInputStream(stalled, mode: .asynchronous, context: context) }
            for stream in streams { stream.open() }
            await waiting.values(count: 600 - 512)
            let pipe = BlobPipe()
            try await pipe.write(Data([7]))
            let limited = BlobContext(deadline: .now + .seconds(60))
            for source in [MemorySource(count: 100_000), pipe.source] as [any BlobInputStreamDataSource] {
                let stream = BlobInputStream(source, mode: .asynchronous, context: limited)
                stream.open()
                try #require(stream.readBytes(1).count == 1)
            }
            var count = 0
            for try await chunk in MemorySource(count: 100_000).chunks(context: limited) { count += chunk.count }
            try #require(count == 100_000)
            gate.open()
            for stream in streams { try #require(stream.readAll() == [0, 1, 2]) }
        }
    }

    @Test func sourcesThatCannotBeInterruptedDoNotStopOthersEither() async {
        await #expect(processExitsWith: .success) {
            let source = StuckSource()
            let streams = (0..<100).map { _ in BlobInputStream(source, mode: .asynchronous) }
            for stream in streams { stream.open() }
            let stream = BlobInputStream(MemorySource(count: 10), mode: .asynchronous)
            stream.open()
            try #require(stream.readAll()?.count == 10)
            source.gate.open()
            for stream in streams { try #require(stream.readAll() == []) }
        }
    }

    @Test func eventDrivenSourcesTakeNoThreads() async {
        await #expect(processExitsWith: .success) {
            let pipes = (0..<1000).map { _ in BlobPipe() }
            let streams = pipes.map { BlobInputStream($0.source, mode: .asynchronous) }
            for stream in streams { stream.open() }
            for stream in streams { try stream.state.wait(BlobContext()) { $0.isOpenCompleted ? () : nil } }
            // Those that opened them go, when they have waited for more to do.
            try #require(BlockingPool.reads.threadCount <= 48)
            for pipe in pipes { try pipe.write(Data([1, 2, 3])) }
            for stream in streams { try #require(stream.readBytes(10).count == 3) }
        }
    }

    @Test(arguments: ["synchronous", "asynchronous"])
    func tenThousandIdleStreamsTakeLessThanFourKiBEach(_ kind: String) async {
        await #expect(processExitsWith: .success) { [kind] in
            let count = 10_000
            let pipes = kind == "asynchronous" ? (0..<count).map { _ in BlobPipe() } : []
            let memory = MemorySource(count: 10)
            var streams: [BlobInputStream] = []
            streams.reserveCapacity(count)
            let first = BlobInputStream(memory, mode: .asynchronous)
            first.open()
            try #require(first.readAll()?.count == 10)
            let before = heapByteCount()
            for number in 0..<count {
                let stream =
                    pipes.isEmpty ? BlobInputStream(memory) : BlobInputStream(pipes[number].source, mode: .asynchronous)
                stream.open()
                streams.append(stream)
            }
            for stream in streams { try stream.state.wait(BlobContext()) { $0.isOpenCompleted ? () : nil } }
            let each = (heapByteCount() - before) / count
            // Less than a stream can be means that nothing was measured.
            try #require((200..<4096).contains(each), "\(each) bytes each")
        }
    }
}
