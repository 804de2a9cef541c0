import BlobStreams
import Foundation
import Testing

/// Each in a process of its own, because what else runs would count too.
@Suite(.timeLimit(.minutes(10))) struct ManyStreamsTests {
    @Test func stalledSourcesDoNotStopOthersAndTheThreadsAreFew() async {
        await #expect(processExitsWith: .success) {
            let gate = BlobObservable(false)
            let stalled = ClosureSource(info: BlobInfo(byteCount: 3)) { offset, output, context in
                try gate.wait(context) { $0 ? () : nil }
                output.append(UInt8(offset))
            }
            let streams = (0..<200).map { _ in BlobInputStream(stalled, mode: .asynchronous) }
            for stream in streams { stream.open() }
            // One that is not stalled gets through, again and again, while threads are taken from those that are.
            var durations: [Duration] = []
            for _ in 0..<5 {
                let context = BlobContext(deadline: .now + .seconds(60))
                let stream = BlobInputStream(MemorySource(count: 100_000), mode: .asynchronous, context: context)
                let start = ContinuousClock.now
                stream.open()
                try #require(stream.readBytes(10).count == 10)
                durations.append(ContinuousClock.now - start)
                try #require(stream.readAll()?.count == 99_990)
                try #require(threadCount() <= 64, "\(threadCount()) threads")
            }
            // Not each time: other processes may want the processors too.
            try #require(durations.contains { $0 < .seconds(1) }, "\(durations)")
            try #require(BlockingPool.reads.threadCount <= 48)
            // Those that had to give their threads back lose nothing.
            gate.update { $0 = true }
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
            let before = residentByteCount()
            for number in 0..<count {
                let stream =
                    pipes.isEmpty ? BlobInputStream(memory) : BlobInputStream(pipes[number].source, mode: .asynchronous)
                stream.open()
                streams.append(stream)
            }
            for stream in streams { try stream.state.wait(BlobContext()) { $0.isOpenCompleted ? () : nil } }
            let each = (residentByteCount() - before) / count
            // Less than a stream can be means that nothing was measured.
            try #require((200..<4096).contains(each), "\(each) bytes each")
        }
    }
}
