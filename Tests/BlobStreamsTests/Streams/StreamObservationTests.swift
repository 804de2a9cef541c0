import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct StreamObservationTests {
    @Test(arguments: BlobInputStreamTests.modes) func eachPhaseIsSeenOnceAndInOrder(_ mode: BlobStreamMode) async throws
    {
        let phases = Recorder<BlobStreamState.Phase>()
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 200_000), mode: mode)
            let token = stream.state.observe(\.phase, options: [.initial, .new]) { change in
                if let phase = change.new { phases.append(phase) }
            }
            stream.open()
            #expect(stream.readAll()?.count == 200_000)
            stream.open()
            #expect(stream.readAll()?.count == 200_000)
            stream.close()
            phases.waitForValues(count: 8)
            token.cancel()
        }
        #expect(phases.values == [.notOpen, .opening, .open, .atEnd, .opening, .open, .atEnd, .closed])
    }

    /// What `close()` promises: the thread that is delivering goes on, although nobody has the stream any more.
    @Test func statesBeforeAClosingReachObserversThatAnotherThreadNotifies() async throws {
        let (isEntered, gate, phases) = (Latch(), Latch(), Recorder<BlobStreamState.Phase>())
        let token = try await onThread {
            let stream = BlobInputStream(MemorySource(count: 10))
            let token = stream.state.observe(\.phase) { change in
                phases.append(change.new ?? .notOpen)
                guard change.new == .opening else { return }
                isEntered.open()
                gate.wait()
            }
            let shared = UnsafeTransfer(stream)  // Streams may be used on several threads.
            Thread { shared.value.open() }.start()
            isEntered.wait()
            #expect(stream.readAll() == testBytes(10))
            stream.close()
            #expect(phases.values == [.opening], "Neither a read nor closing waits for an observer.")
            return token
        }
        gate.open()
        #expect(await phases.values(count: 4) == [.opening, .open, .atEnd, .closed])
        token.cancel()
    }

    @Test func aTokenThatIsReleasedWhileAnotherThreadNotifiesDropsTheRest() async throws {
        let (isEntered, gate, phases) = (Latch(), Latch(), Recorder<BlobStreamState.Phase>())
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 10))
            var token: BlobRegistration? = stream.state.observe(\.phase) { change in
                phases.append(change.new ?? .notOpen)
                isEntered.open()
                gate.wait()
            }
            let (shared, isOpened) = (UnsafeTransfer(stream), Latch())  // As above.
            Thread {
                shared.value.open()
                isOpened.open()
            }.start()
            isEntered.wait()
            stream.close()
            withExtendedLifetime(token) {}
            token = nil
            gate.open()
            isOpened.wait()
        }
        #expect(phases.values == [.opening])
    }

    /// A removal that copied or searched the others would take seconds.
    @Test func tenThousandObserversAreReleasedInTimeThatIsNotSquare() async throws {
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 1))
            for isReversed in [false, true] {
                var tokens = (0..<10_000).map { _ in stream.state.observe(\.phase) { _ in } }
                if isReversed { tokens.reverse() }
                let time = ContinuousClock().measure { tokens.forEach { $0.cancel() } }
                // A fifth of a second on a busy machine.
                #expect(time < .seconds(2))
            }
        }
    }

    @Test func progressIsSeenWithItsOldValue() async throws {
        let steps = Recorder<[Int64]>()
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 10))
            let token = stream.state.observe(\.byteOffset, options: [.old, .new]) { change in
                steps.append([change.old ?? -1, change.new ?? -1])
            }
            stream.open()
            for _ in 0..<3 { #expect(stream.readBytes(4).count > 0) }
            token.cancel()
            _ = stream.setOffset(0)
        }
        #expect(steps.values == [[0, 4], [4, 8], [8, 10]])
    }

    @Test func anErrorIsPublishedWithItsPhase() async throws {
        let failures = Recorder<String>()
        try await onThread {
            let stream = BlobInputStream(FailingSource(after: 2, BlobError(.corrupted, "Broken.")))
            let token = stream.state.observe(\.self) { change in
                if let new = change.new, new.phase == .failed {
                    failures.append("\(new.error?.code.description ?? "")")
                }
            }
            stream.open()
            #expect(stream.readAll() == nil)
            token.cancel()
        }
        #expect(failures.values == ["corrupted"])
    }

    /// The consumer comes late: of the progress the last waits, of the phases all do.
    @Test func statesKeepEachPhaseForASlowConsumer() async throws {
        let stream = UnsafeTransfer(BlobInputStream(MemorySource(count: 10_000)))  // To the thread below alone.
        var states = stream.value.state.states.makeAsyncIterator()
        try await onThread {
            stream.value.open()
            #expect(stream.value.readAll(by: 1)?.count == 10_000)
            stream.value.close()
        }
        var seen: [BlobStreamState] = []
        while let state = await states.next() { seen.append(state) }
        #expect(seen.count < 20, "\(seen.count)")
        var phases = seen.map(\.phase)
        phases = phases.enumerated().filter { $0.offset == 0 || phases[$0.offset - 1] != $0.element }.map(\.element)
        #expect(phases == [.notOpen, .opening, .open, .atEnd, .closed])
        #expect(seen.last?.byteOffset == 10_000)
    }

    /// Each piece comes when all before it was read: thousands of times there is nothing, and then something.
    @Test func whatWaitsOfAnEventDrivenStreamIsBounded() async throws {
        let (pieceCount, pieceByteCount) = (3_000, 1 << 10)
        let pipe = BlobPipe(capacity: pieceByteCount)
        let stream = UnsafeTransfer(BlobInputStream(pipe.source, mode: .asynchronous))  // To the thread below alone.
        var states = stream.value.state.states.makeAsyncIterator()
        try await onThread {
            stream.value.open()
            for number in 0..<pieceCount {
                try pipe.write(Data(repeating: UInt8(number & 0xFF), count: pieceByteCount))
                var missing = pieceByteCount
                while missing > 0 {
                    let count = stream.value.readBytes(256).count
                    missing = try count > 0 ? missing - count : { throw BlobError(.truncated, "In piece \(number).") }()
                }
            }
            pipe.finish()
            #expect(stream.value.readAll()?.count == 0)
            stream.value.close()
        }
        var seen: [BlobStreamState] = []
        while let state = await states.next() { seen.append(state) }
        #expect(seen.count <= 10, "\(seen.count)")
        #expect(seen.last?.byteOffset == Int64(pieceCount * pieceByteCount))
        var phases = seen.map(\.phase)
        phases = phases.enumerated().filter { $0.offset == 0 || phases[$0.offset - 1] != $0.element }.map(\.element)
        #expect(phases == [.notOpen, .opening, .open, .atEnd, .closed])
    }

    @Test func aHandlerMayUseTheStream() async throws {
        let results = Recorder<[UInt8]>()
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 10))
            let shared = UnsafeTransfer(stream)  // Streams may be used on several threads, and this is one.
            let token = stream.state.observe(\.phase) { change in
                if change.new == .open { results.append(shared.value.readBytes(4).bytes) }
                if change.new == .atEnd { shared.value.close() }
            }
            stream.open()
            #expect(stream.readAll()?.count == nil, "The handler closes the stream before the last read.")
            #expect(stream.streamStatus == .closed)
            token.cancel()
        }
        #expect(results.values == [Array(testBytes(10).prefix(4))])
    }
}
