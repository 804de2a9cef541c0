import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// The interruptions that a reader reports, as observers of a stream see them.
@Suite(.timeLimit(.minutes(10))) struct StreamInterruptionTests {
    /// What an observer sees of a stream, apart from its progress.
    private struct Step: Equatable, Sendable {
        let phase: BlobStreamState.Phase
        var interruption: BlobStreamState.Interruption?
        var recoveryCount = 0

        init(
            _ phase: BlobStreamState.Phase, _ interruption: BlobStreamState.Interruption? = nil, recoveryCount: Int = 0
        ) {
            (self.phase, self.interruption, self.recoveryCount) = (phase, interruption, recoveryCount)
        }

        init(_ state: BlobStreamState) {
            self.init(state.phase, state.interruption, recoveryCount: state.recoveryCount)
        }
    }

    /// A source of bytes that reports events before the byte at offset 3, and then may fail.
    private func source(_ kinds: [BlobEvent.Kind], failing: Bool = false) -> ClosureSource {
        ClosureSource(info: BlobInfo(byteCount: 5)) { offset, output, context in
            if offset == 3 {
                for kind in kinds { context.eventSink?(BlobEvent(kind, offset)) }
                if failing { throw BlobError(.changed, "Other content.") }
            }
            output.append(UInt8(offset))
        }
    }

    /// Removes steps that repeat the one before.
    private func steps(_ states: [BlobStreamState]) -> [Step] { self.distinct(states.map { Step($0) }) }

    private func distinct<Value: Equatable>(_ values: [Value]) -> [Value] {
        values.reduce(into: []) { distinct, value in if distinct.last != value { distinct.append(value) } }
    }

    /// Expects phases and interruptions, each in their order: in an asynchronous stream, reading ahead may have begun,
    /// and have been interrupted, before the stream says that it is open.
    private func expect(
        _ states: [BlobStreamState], phases: [BlobStreamState.Phase], interruptions: [Step],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(self.distinct(states.map(\.phase)) == phases, sourceLocation: sourceLocation)
        let found = states.map { Step(.open, $0.interruption, recoveryCount: $0.recoveryCount) }
        #expect(self.distinct(found) == interruptions, sourceLocation: sourceLocation)
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func eachStageIsSeenOnceAndInOrder(_ mode: BlobStreamMode) async throws {
        let seen = Recorder<BlobStreamState>()
        let source = self.source([.invalidated, .recovering, .recovered, .recovering, .recovering, .recovered])
        let token = try await onThread {
            let stream = BlobInputStream(source, mode: mode)
            let token = stream.state.observe(\.self, options: [.initial, .new]) { change in
                if let state = change.new { seen.append(state) }
            }
            stream.open()
            #expect(stream.readAll(by: 1) == [0, 1, 2, 3, 4])
            stream.close()
            return token
        }
        // Another thread may be delivering.
        let last = await seen.first { $0.phase == .closed }
        token.cancel()
        #expect(last?.recoveryCount == 2)
        self.expect(
            seen.values, phases: [.notOpen, .opening, .open, .atEnd, .closed],
            interruptions: [
                Step(.open), Step(.open, .invalidated), Step(.open, .recovering), Step(.open, recoveryCount: 1),
                Step(.open, .recovering, recoveryCount: 1), Step(.open, recoveryCount: 2),
            ])
    }

    @Test func noStageIsLostForASlowConsumer() async throws {
        let stream = UnsafeTransfer(BlobInputStream(self.source([.invalidated, .recovering, .recovered])))
        var states = stream.value.state.states.makeAsyncIterator()
        try await onThread {
            stream.value.open()
            #expect(stream.value.readAll(by: 1)?.count == 5)
            stream.value.close()
        }
        var seen: [BlobStreamState] = []
        while let state = await states.next() { seen.append(state) }
        #expect(
            self.steps(seen) == [
                Step(.notOpen), Step(.opening), Step(.open), Step(.open, .invalidated), Step(.open, .recovering),
                Step(.open, recoveryCount: 1), Step(.atEnd, recoveryCount: 1), Step(.closed, recoveryCount: 1),
            ])
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func contentThatChangedIsInvalidatedAndThenFails(_ mode: BlobStreamMode) async throws {
        let seen = Recorder<BlobStreamState>()
        let source = self.source([.invalidated, .recovering], failing: true)
        let token = try await onThread {
            let stream = BlobInputStream(source, mode: mode)
            let token = stream.state.observe(\.self) { change in
                if let state = change.new { seen.append(state) }
            }
            stream.open()
            #expect(stream.readAll(by: 1) == nil)
            #expect(stream.state.value.interruption == nil && !stream.state.value.isRecovering)
            return token
        }
        // Another thread may be delivering; the release of the stream closes it.
        let last = await seen.first { $0.phase == .closed }
        token.cancel()
        #expect(last?.error?.code == .changed)
        self.expect(
            seen.values, phases: [.opening, .open, .failed, .closed],
            interruptions: [Step(.open), Step(.open, .invalidated), Step(.open, .recovering), Step(.open)])
    }

    @Test func anIdleStreamReportsWhatItsReaderReportsOnAnotherThread() async throws {
        let sink = Locked<(@Sendable (BlobEvent) -> Void)?>(nil)
        let seen = Recorder<BlobStreamState.Interruption?>()
        let source = ClosureSource(info: BlobInfo(byteCount: 5)) { offset, output, context in
            sink.withLock { $0 = context.eventSink }
            output.append(UInt8(offset))
        }
        let stream = UnsafeTransfer(BlobInputStream(source))
        try await onThread {
            stream.value.open()
            #expect(stream.value.readBytes(1).count == 1)
        }
        let token = stream.value.state.observe(\.interruption) { seen.append($0.new ?? nil) }
        sink.withLock { $0 }?(BlobEvent(.invalidated, 1))
        await seen.values(count: 1)
        #expect(stream.value.state.value.isRecovering)
        // The new opening has nothing to do with the old one, whose events may come late.
        #expect(stream.value.control.setOffset(3))
        await seen.values(count: 2)
        sink.withLock { $0 }?(BlobEvent(.recovering, 1))
        #expect(stream.value.state.value.interruption == nil)
        #expect(seen.values == [.invalidated, nil])
        token.cancel()
    }
}
