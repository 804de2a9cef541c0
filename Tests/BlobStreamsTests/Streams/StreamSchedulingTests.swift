import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct StreamSchedulingTests {
    /// Records what it is told, on any thread, and whether calls overlap.
    private final class SharedDelegate: NSObject, StreamDelegate, @unchecked Sendable {  // Safe: constants, locked.
        let events = Recorder<String>()
        let runLoops = Recorder<ObjectIdentifier>()
        let overlaps = Recorder<Bool>()
        private let isBusy = Locked(false)
        private let handler: @Sendable (Stream, Stream.Event) -> Void

        init(_ handler: @escaping @Sendable (Stream, Stream.Event) -> Void = { _, _ in }) { self.handler = handler }

        func stream(_ stream: Stream, handle event: Stream.Event) {
            if self.isBusy.withLock({ busy in
                defer { busy = true }; return busy
            }) {
                self.overlaps.append(true)
            }
            self.handler(stream, event)
            self.isBusy.withLock { $0 = false }
            self.runLoops.append(ObjectIdentifier(RunLoop.current))
            self.events.append(event.description)
        }
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func severalRunLoopsAndModesShareTheEvents(_ mode: BlobStreamMode) async throws {
        try await onThread {
            let (first, second) = (LoopThread(), LoopThread(RunLoop.Mode("second")))
            let stream = BlobInputStream(MemorySource(count: 500), mode: mode)
            let delegate = SharedDelegate { stream, event in
                if event == .hasBytesAvailable { _ = (stream as? InputStream)?.readBytes(1) }
            }
            stream.delegate = delegate
            stream.schedule(in: first.runLoop, forMode: .default)
            stream.schedule(in: first.runLoop, forMode: RunLoop.Mode("never run"))
            stream.schedule(in: second.runLoop, forMode: RunLoop.Mode("second"))
            stream.schedule(in: second.runLoop, forMode: RunLoop.Mode("second"))
            stream.open()
            let events = delegate.events.waitForValues(count: 502)
            #expect(events == ["open"] + Array(repeating: "bytes", count: 500) + ["end"])
            #expect(delegate.overlaps.values.isEmpty, "One thread delivers at a time.")
            stream.close()
            for loop in [first, second] { loop.stop() }
            #expect(delegate.events.values.count == 502)
        }
    }

    @Test func oneModeIsRemovedAndTheOthersStay() async throws {
        try await onThread {
            let loop = LoopThread()
            let stream = BlobInputStream(MemorySource(count: 3), mode: .asynchronous)
            let delegate = SharedDelegate()
            stream.delegate = delegate
            stream.schedule(in: loop.runLoop, forMode: RunLoop.Mode("other"))
            stream.schedule(in: loop.runLoop, forMode: .default)
            stream.remove(from: loop.runLoop, forMode: RunLoop.Mode("other"))
            stream.open()
            #expect(delegate.events.waitForValues(count: 2) == ["open", "bytes"])
            stream.close()
            loop.stop()
        }
    }

    @Test func eventsComeOnTheThreadOfTheRunLoopWhoeverSchedules() async throws {
        try await onThread {
            let loop = LoopThread()
            let pipe = BlobPipe()
            let stream = BlobInputStream(pipe.source, mode: .asynchronous)
            let delegate = SharedDelegate { stream, event in
                if event == .hasBytesAvailable { _ = (stream as? InputStream)?.readBytes(10) }
            }
            stream.delegate = delegate
            stream.open()
            stream.schedule(in: loop.runLoop, forMode: .default)
            for count in 2..<10 {
                try pipe.write(Data([1]))
                delegate.events.waitForValues(count: count)
            }
            pipe.finish()
            #expect(delegate.events.waitForValues(count: 10).last == "end")
            #expect(Set(delegate.runLoops.values) == [ObjectIdentifier(loop.runLoop)])
            stream.close()
            loop.stop()
        }
    }

    @Test func nothingIsDeliveredOnceTheStreamIsUnscheduledAndTheRestWhenItIsBack() async throws {
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 3))
            let delegate = RecordingDelegate()
            delegate.on(.openCompleted) { $0.remove(from: .current, forMode: .default) }
            stream.delegate = delegate
            stream.schedule(in: .current, forMode: .default)
            stream.open()
            #expect(!RunLoop.current.run(until: { false }), "Nothing keeps the run loop going.")
            #expect(delegate.events == [.openCompleted])
            stream.schedule(in: .current, forMode: .default)
            RunLoop.current.drain()
            #expect(delegate.events == [.openCompleted, .hasBytesAvailable])
            stream.close()
        }
    }

    @Test func closingInAHandlerIsTheLastThatIsHeard() async throws {
        try await onThread {
            for event in [Stream.Event.openCompleted, .hasBytesAvailable] {
                let stream = BlobInputStream(MemorySource(count: 3))
                let delegate = RecordingDelegate()
                delegate.on(event) { $0.close() }
                stream.delegate = delegate
                stream.schedule(in: .current, forMode: .default)
                stream.open()
                #expect(!RunLoop.current.run(until: { false }))
                #expect(delegate.events.last == event)
            }
        }
    }

    @Test func bytesAreNotAnnouncedAgainBeforeARead() async throws {
        try await onThread {
            let pipe = BlobPipe()
            let stream = BlobInputStream(pipe.source, mode: .asynchronous)
            let delegate = RecordingDelegate()
            stream.delegate = delegate
            stream.schedule(in: .current, forMode: .default)
            stream.open()
            RunLoop.current.run { delegate.events.count == 1 }
            for _ in 0..<5 {
                try pipe.write(Data([1]))
                RunLoop.current.drain()
            }
            RunLoop.current.run { delegate.events.count == 2 }
            RunLoop.current.drain()
            #expect(delegate.events == [.openCompleted, .hasBytesAvailable])
            #expect(stream.readBytes(2).count == 2)
            RunLoop.current.run { delegate.events.count == 3 }
            RunLoop.current.drain()
            #expect(delegate.events == [.openCompleted, .hasBytesAvailable, .hasBytesAvailable])
            stream.close()
        }
    }

    /// Within the window, at its end, past it, back, and to the same offset.
    @Test(arguments: BlobInputStreamTests.modes, SourceKind.allCases)
    func bytesAreAnnouncedAgainOnceTheOffsetWasSet(_ mode: BlobStreamMode, _ kind: SourceKind) async throws {
        for offset: Int64 in [1, 2, 50, 65_536, 65_537, 199_999] {
            try await onThread {
                let stream = BlobInputStream(kind.source(200_000), mode: mode)
                let delegate = RecordingDelegate()
                var isMoved = false
                delegate.on(.hasBytesAvailable) { stream in
                    guard let stream = stream as? BlobInputStream else { return }
                    if delegate.events.count < 3 {
                        _ = stream.readBytes(1)
                    } else if !isMoved {
                        isMoved = stream.setOffset(offset)
                        // A pipe is not repeatable: it has no other offset.
                        if !isMoved { stream.close() }
                    } else {
                        #expect(stream.offset == offset)
                        stream.close()
                    }
                }
                stream.delegate = delegate
                stream.schedule(in: .current, forMode: .default)
                stream.open()
                #expect(!RunLoop.current.run(until: { false }))
                #expect(isMoved == (kind != .eventDriven || offset == 1))
                #expect(stream.streamStatus == .closed)
            }
        }
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func theEndIsAnnouncedToADelegateThatMovesThere(_ mode: BlobStreamMode) async throws {
        for byteCount: Int64 in [10, 100_000] {
            try await onThread {
                let stream = BlobInputStream(MemorySource(count: Int(byteCount)), mode: mode)
                let delegate = RecordingDelegate()
                delegate.on(.hasBytesAvailable) { #expect(($0 as? BlobInputStream)?.setOffset(byteCount) == true) }
                stream.delegate = delegate
                stream.schedule(in: .current, forMode: .default)
                stream.open()
                RunLoop.current.run { delegate.events.contains(.endEncountered) }
                #expect(delegate.events == [.openCompleted, .hasBytesAvailable, .endEncountered])
                stream.close()
            }
        }
    }

    @Test func aStreamThatIsClosedKeepsNoRunLoopRunning() async throws {
        try await onThread {
            let pair = BoundStreamPair()
            for stream in [BlobInputStream(MemorySource(count: 1)), pair.input, pair.output] as [Stream] {
                stream.open()
                stream.close()
                stream.schedule(in: .current, forMode: .default)
                #expect(!RunLoop.current.run(until: { false }))
            }
        }
    }

    @Test func bytesThatSomebodyElseTookAreNotAnnounced() async throws {
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 3))
            let delegate = RecordingDelegate()
            stream.delegate = delegate
            stream.open()
            #expect(stream.readBytes(3).count == 3)
            stream.schedule(in: .current, forMode: .default)
            RunLoop.current.drain()
            #expect(delegate.events == [.openCompleted, .endEncountered])
            #expect(stream.setOffset(0))
            RunLoop.current.drain()
            #expect(delegate.events == [.openCompleted, .endEncountered, .hasBytesAvailable])
            stream.close()
        }
    }

    @Test func anEndThatWasLeftAgainIsNotAnnounced() async throws {
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 3))
            let delegate = RecordingDelegate()
            stream.delegate = delegate
            stream.open()
            #expect(stream.readAll()?.count == 3)
            #expect(stream.setOffset(1))
            stream.schedule(in: .current, forMode: .default)
            RunLoop.current.drain()
            #expect(delegate.events == [.openCompleted, .hasBytesAvailable])
            #expect(stream.readAll()?.count == 2)
            RunLoop.current.drain()
            #expect(delegate.events == [.openCompleted, .hasBytesAvailable, .endEncountered])
            stream.close()
        }
    }

    @Test func anErrorAfterBytesIsAnnouncedOnce() async throws {
        try await onThread {
            for mode in BlobInputStreamTests.modes {
                let stream = BlobInputStream(FailingSource(after: 2, BlobError(.io, "No.")), mode: mode)
                let delegate = RecordingDelegate()
                delegate.on(.hasBytesAvailable) { _ = ($0 as? InputStream)?.readBytes(1) }
                stream.delegate = delegate
                stream.schedule(in: .current, forMode: .default)
                stream.open()
                RunLoop.current.run { delegate.events.last == .errorOccurred }
                #expect(RunLoop.current.drain())
                let looks = mode == .synchronous ? 3 : 2
                #expect(
                    delegate.events == [.openCompleted] + Array(repeating: .hasBytesAvailable, count: looks)
                        + [.errorOccurred])
                stream.close()
            }
        }
    }

    @Test func aHandlerMayRunItsRunLoop() async throws {
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 3))
            let delegate = RecordingDelegate()
            delegate.on(.openCompleted) { _ in
                RunLoop.current.run { delegate.events.contains(.hasBytesAvailable) }
            }
            stream.delegate = delegate
            stream.schedule(in: .current, forMode: .default)
            stream.open()
            RunLoop.current.drain()
            #expect(delegate.events == [.openCompleted, .hasBytesAvailable])
            stream.close()
        }
    }

    @Test func closingOrRemovingOnAnotherThreadEndsTheRunLoop() async throws {
        try await onThread {
            for isClosed in [true, false] {
                let pipe = BlobPipe()
                let stream = BlobInputStream(pipe.source, mode: .asynchronous)
                stream.schedule(in: .current, forMode: .default)
                stream.open()
                let shared = UnsafeTransfer((stream, RunLoop.current))  // Streams may be used on several threads.
                Thread {
                    let (stream, runLoop) = shared.value
                    if isClosed { stream.close() } else { stream.remove(from: runLoop, forMode: .default) }
                }.start()
                #expect(!RunLoop.current.run(until: { false }))
                stream.close()
            }
        }
    }

    @Test func aStreamThatIsReleasedWhileScheduledLeavesItsRunLoop() async throws {
        try await onThread {
            for mode in BlobInputStreamTests.modes {
                for opens in [true, false] {
                    weak var released: BlobInputStream?
                    do {
                        let stream = BlobInputStream(BlobPipe().source, mode: mode)
                        released = stream
                        stream.schedule(in: .current, forMode: .default)
                        if opens { stream.open() }
                    }
                    #expect(released == nil)
                    #expect(!RunLoop.current.run(until: { false }))
                }
            }
        }
    }

    // MARK: The delegate

    @Test func theStreamIsItsOwnDelegateUntilThereIsAnother() async throws {
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 1))
            #expect(stream.delegate === stream)
            do {
                let delegate = RecordingDelegate()
                stream.delegate = delegate
                #expect(stream.delegate === delegate)
            }
            #expect(stream.delegate == nil, "It is not retained.")
            stream.delegate = nil
            #expect(stream.delegate === stream)
        }
    }

    @Test func aSubclassMayBeItsOwnDelegate() async throws {
        final class Own: BlobInputStream {
            var events: [Stream.Event] = []
            override func stream(_ stream: Stream, handle event: Stream.Event) { self.events.append(event) }
        }
        try await onThread {
            let stream = Own(MemorySource(count: 1))
            stream.schedule(in: .current, forMode: .default)
            stream.open()
            RunLoop.current.drain()
            #expect(stream.events == [.openCompleted, .hasBytesAvailable])
            stream.close()
        }
    }
}
