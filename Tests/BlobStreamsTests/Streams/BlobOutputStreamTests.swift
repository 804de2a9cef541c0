import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

/// The events of the writing end, on run loops.
@Suite(.timeLimit(.minutes(10))) struct BlobOutputStreamTests {
    static let modes = [RunLoop.Mode.default, RunLoop.Mode("a mode of one's own")]

    private final class Fixture {
        let mode: RunLoop.Mode
        let ends: Ends
        let delegate = RecordingDelegate()
        var output: OutputStream { self.ends.output }

        init(_ mode: RunLoop.Mode, capacity: Int = 4, context: BlobContext = BlobContext()) {
            self.mode = mode
            self.ends = Ends(capacity: capacity, context: context, opened: false)
            self.output.delegate = self.delegate
        }

        func schedule() { self.output.schedule(in: .current, forMode: self.mode) }

        /// Runs until there are `count` events; then none may follow.
        ///
        /// - Returns: False when the stream no longer keeps the run loop going.
        @discardableResult
        func run(untilEvents count: Int) -> Bool {
            RunLoop.current.run(in: self.mode) { self.delegate.events.count >= count }
            return self.drain()
        }

        @discardableResult
        func drain() -> Bool { RunLoop.current.drain(in: self.mode) }
    }

    private static func fixture(
        _ mode: RunLoop.Mode, capacity: Int = 4, context: BlobContext = BlobContext(),
        _ body: @escaping @Sendable (Fixture) -> Void
    ) async throws {
        try await onThread { body(Fixture(mode, capacity: capacity, context: context)) }
    }

    @Test(arguments: modes) func spaceIsAnnouncedOnOpeningAndAfterEachWriteThatLeavesSome(_ mode: RunLoop.Mode)
        async throws
    {
        try await Self.fixture(mode) { fixture in
            fixture.delegate.on(.hasSpaceAvailable) { stream in
                #expect((stream as? OutputStream)?.hasSpaceAvailable == true)
                #expect((stream as? OutputStream)?.writeBytes([7]) == 1)
            }
            fixture.schedule()
            fixture.output.open()
            #expect(fixture.run(untilEvents: 5))
            #expect(fixture.delegate.events == [.openCompleted] + Array(repeating: .hasSpaceAvailable, count: 4))
            // Full. What is read makes room for as much again.
            fixture.ends.input.open()
            #expect(fixture.ends.input.readBytes(2).count == 2)
            #expect(fixture.run(untilEvents: 7))
            #expect(fixture.delegate.events.dropFirst(5) == [.hasSpaceAvailable, .hasSpaceAvailable])
            fixture.output.close()
            #expect(!fixture.drain(), "Closing takes the stream out of its run loops.")
            #expect(fixture.ends.input.readAll() == [7, 7, 7, 7])
            #expect(fixture.delegate.events.count == 7)
        }
    }

    @Test(arguments: modes) func whoLeavesTheRoomUnusedIsNotToldAgain(_ mode: RunLoop.Mode) async throws {
        try await Self.fixture(mode) { fixture in
            fixture.schedule()
            fixture.output.open()
            fixture.run(untilEvents: 2)
            fixture.ends.input.open()
            #expect(fixture.drain())
            #expect(fixture.delegate.events == [.openCompleted, .hasSpaceAvailable])
            #expect(fixture.output.writeBytes([1]) == 1)
            fixture.run(untilEvents: 3)
            #expect(fixture.ends.input.readBytes(1).count == 1)
            #expect(fixture.drain())
            #expect(fixture.delegate.events == [.openCompleted, .hasSpaceAvailable, .hasSpaceAvailable])
        }
    }

    @Test(arguments: modes) func roomThatWasFilledMeanwhileIsNotAnnounced(_ mode: RunLoop.Mode) async throws {
        try await Self.fixture(mode) { fixture in
            fixture.schedule()
            fixture.output.open()
            #expect(fixture.output.writeBytes([1, 2, 3, 4]) == 4)
            fixture.run(untilEvents: 1)
            #expect(fixture.delegate.events == [.openCompleted])
            #expect(fixture.output.writeBytes([]) == 0)
            fixture.drain()
            #expect(fixture.delegate.events == [.openCompleted])
        }
    }

    @Test(arguments: modes) func aReaderThatGoesEarlyIsAnErrorAlsoWhenNobodyWrites(_ mode: RunLoop.Mode) async throws {
        try await Self.fixture(mode) { fixture in
            fixture.schedule()
            fixture.output.open()
            fixture.ends.input.open()
            fixture.run(untilEvents: 2)
            fixture.ends.input.close()
            #expect(fixture.run(untilEvents: 3))
            #expect(fixture.delegate.events == [.openCompleted, .hasSpaceAvailable, .errorOccurred])
            #expect(fixture.output.streamStatus == .error)
            #expect(fixture.output.errorCode == .closed)
            #expect(fixture.output.writeBytes([1]) == -1)
            fixture.output.close()
            #expect(!fixture.drain())
            #expect(fixture.delegate.events.count == 3)
        }
    }

    @Test(arguments: modes) func aReaderThatGoesAfterTheEndIsNothing(_ mode: RunLoop.Mode) async throws {
        try await Self.fixture(mode) { fixture in
            fixture.schedule()
            fixture.output.open()
            fixture.ends.input.open()
            fixture.run(untilEvents: 2)
            fixture.output.close()
            #expect(fixture.ends.input.readAll() == [])
            fixture.ends.input.close()
            fixture.drain()
            #expect(fixture.output.streamStatus == .closed)
            #expect(fixture.output.streamError == nil)
            #expect(fixture.delegate.events == [.openCompleted, .hasSpaceAvailable])
        }
    }

    @Test(arguments: modes) func openingWhenTheReaderIsGoneIsAnErrorInsteadOfOpen(_ mode: RunLoop.Mode) async throws {
        try await Self.fixture(mode) { fixture in
            fixture.schedule()
            fixture.ends.input.open()
            fixture.ends.input.close()
            fixture.drain()
            #expect(fixture.output.streamStatus == .notOpen)
            fixture.output.open()
            fixture.run(untilEvents: 1)
            #expect(fixture.delegate.events == [.errorOccurred])
            #expect(fixture.output.errorCode == .closed)
        }
    }

    @Test(arguments: modes) func aCancellationIsAnEvent(_ mode: RunLoop.Mode) async throws {
        let context = BlobContext()
        try await Self.fixture(mode, context: context) { fixture in
            fixture.schedule()
            fixture.output.open()
            fixture.run(untilEvents: 2)
            context.cancellation.cancel()
            fixture.run(untilEvents: 3)
            #expect(fixture.delegate.events == [.openCompleted, .hasSpaceAvailable, .errorOccurred])
            #expect(fixture.output.errorCode == .cancelled)
        }
    }

    @Test(arguments: [
        BlobContext(deadline: .now.advanced(by: .milliseconds(50))), BlobContext(idleLimit: .milliseconds(30)),
    ])
    func aLimitEndsAWaitForRoomThatNobodyBlocksIn(_ context: BlobContext) async throws {
        try await Self.fixture(.default, context: context) { fixture in
            fixture.delegate.on(.hasSpaceAvailable) { stream in
                _ = (stream as? OutputStream)?.writeBytes([1, 2, 3, 4])
            }
            fixture.schedule()
            fixture.output.open()
            RunLoop.current.run(in: fixture.mode) { fixture.delegate.events.last == .errorOccurred }
            #expect(fixture.output.errorCode == .timedOut)
            #expect(fixture.output.streamStatus == .error)
            fixture.ends.input.open()
            #expect(fixture.ends.input.readAll() == nil)
            #expect(fixture.ends.input.errorCode == .timedOut)
        }
    }

    @Test(arguments: modes) func nothingIsDeliveredWithoutScheduling(_ mode: RunLoop.Mode) async throws {
        try await Self.fixture(mode) { fixture in
            fixture.output.open()
            #expect(fixture.output.writeBytes([1]) == 1)
            fixture.drain()
            #expect(fixture.delegate.events.isEmpty)
            // They were kept.
            fixture.schedule()
            fixture.run(untilEvents: 2)
            #expect(fixture.delegate.events == [.openCompleted, .hasSpaceAvailable])
            fixture.output.remove(from: .current, forMode: fixture.mode)
            #expect(fixture.output.writeBytes([1]) == 1)
            #expect(!fixture.drain())
            #expect(fixture.delegate.events.count == 2)
        }
    }

    @Test(arguments: modes) func nothingIsDeliveredAfterClosing(_ mode: RunLoop.Mode) async throws {
        try await Self.fixture(mode) { fixture in
            fixture.delegate.on(.openCompleted) { $0.close() }
            fixture.schedule()
            fixture.output.open()
            RunLoop.current.run(in: mode) { fixture.output.streamStatus == .closed }
            fixture.schedule()
            #expect(!fixture.drain(), "A closed stream is not scheduled.")
            #expect(fixture.delegate.events == [.openCompleted])
            fixture.output.close()
            #expect(!fixture.drain())
        }
    }

    @Test func aStreamIsItsOwnDelegateUntilAnotherIsSet() async throws {
        try await onThread {
            let pair = BoundStreamPair(capacity: 1)
            let output = pair.output
            #expect(output.delegate === output)
            var delegate: RecordingDelegate? = RecordingDelegate()
            output.delegate = delegate
            #expect(output.delegate === delegate)
            output.delegate = nil
            #expect(output.delegate === output)
            output.delegate = delegate
            delegate = nil
            #expect(output.delegate == nil, "It is not retained.")
            output.schedule(in: .current, forMode: .default)
            output.open()
            RunLoop.current.drain()
            output.close()
        }
    }

    @Test func aReleasedStreamNoLongerKeepsItsRunLoopGoing() async throws {
        try await onThread {
            let delegate = RecordingDelegate()
            weak var stream: OutputStream?
            do {
                let pair = BoundStreamPair()
                stream = pair.output
                pair.output.delegate = delegate
                pair.output.schedule(in: .current, forMode: .default)
                pair.output.open()
            }
            #expect(!RunLoop.current.drain())
            #expect(delegate.events.isEmpty)
            #expect(stream == nil)
        }
    }

    @Test func aRunLoopOfAnotherThreadTakesTheStreamUp() async throws {
        let ends = Ends(opened: false)
        let loop = Locked<UnsafeTransfer<RunLoop>?>(nil)  // Scheduling is for any thread.
        let isReady = Latch()
        async let events = onThread {
            let delegate = RecordingDelegate()
            ends.output.delegate = delegate
            loop.withLock { $0 = UnsafeTransfer(RunLoop.current) }
            let idle = BoundStreamPair().output
            idle.schedule(in: .current, forMode: .default)  // There is nothing else to run for yet.
            isReady.open()
            RunLoop.current.run { delegate.events.count >= 2 }
            return delegate.events
        }
        await isReady.opened()
        loop.withLock { $0 }.map { ends.output.schedule(in: $0.value, forMode: .default) }
        ends.output.open()
        #expect(try await events == [.openCompleted, .hasSpaceAvailable])
    }
}
