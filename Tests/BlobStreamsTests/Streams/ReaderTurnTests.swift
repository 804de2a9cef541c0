import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// How a stream uses the readers of its source: one call of a reader at a time, one reader at a time where the source
/// says so, and nothing on the thread of an asynchronous caller.
@Suite(.timeLimit(.minutes(10))) struct ReaderTurnTests {
    private static let bases: [SourceKind] = [.blocking, .eventDriven]

    @Test(arguments: BlobInputStreamTests.modes, bases)
    func aReaderIsInOneCallAtATime(_ mode: BlobStreamMode, _ kind: SourceKind) async throws {
        for _ in 0..<50 {
            let source = WatchedSource(kind.source(200))
            let shared = UnsafeTransfer(BlobInputStream(source, mode: mode))  // May be used on several threads.
            try await onThreads(3) { number in
                let stream = shared.value
                stream.open()
                for round in 0..<6 {
                    switch (number + round) % 2 {
                    case 0: _ = stream.readBytes(3)
                    default: _ = stream.setOffset(Int64(number * 50 + round))
                    }
                }
                stream.close()
            }
            #expect(source.overlaps.values == [])
        }
    }

    /// Also when that happens during the call.
    @Test func aStreamIsOpenedAgainWhenAnotherThreadHasReachedItsEnd() async throws {
        for _ in 0..<300 {
            let shared = UnsafeTransfer(BlobInputStream(MemorySource(count: 10)))  // May be used on several threads.
            shared.value.open()
            try await onThreads(2) { number in
                if number == 0 { _ = shared.value.readAll() } else { shared.value.open() }
            }
            // In the middle it is refused; at the end, its source can be read again.
            let message = (shared.value.streamError as? BlobError)?.message ?? ""
            #expect(message.isEmpty || message.contains("already been read"))
        }
    }

    /// Without `concurrentReaders` that holds for all readers of the source, and for opening them.
    @Test(arguments: BlobInputStreamTests.modes)
    func aSeekWaitsForTheReaderBeforeIfReadersCannotBeUsedSideBySide(_ mode: BlobStreamMode) async throws {
        for _ in 0..<50 {
            let source = WatchedSource(
                MemorySource(count: 50_000), traits: .repeatable, watchesAll: true)
            let shared = UnsafeTransfer(BlobInputStream(source, mode: mode))  // May be used on several threads.
            shared.value.open()
            try await onThreads(3) { number in
                for round in 0..<4 {
                    if number == 0 {
                        // Past the window, so that the reader is used each time, and now and then to the end.
                        _ = shared.value.readBytes(20_000)
                    } else {
                        _ = shared.value.setOffset(Int64(40_000 - round * 10_000 + number))
                    }
                }
            }
            shared.value.close()
            #expect(source.overlaps.values == [])
        }
    }

    /// Its own call of the stream is not kept waiting for it, and that of others no longer than their job.
    @Test(.timeLimit(.minutes(5))) func aPluginMayTakeItsTimeToClose() async throws {
        let (gate, begun) = (Latch(), Latch())
        let opener = Locked<UnsafeTransfer<BlobInputStream>?>(nil)
        let source = WatchedSource(
            MemorySource(count: 10), traits: .repeatable,
            onClose: {
                guard let shared = opener.take() else { return }
                #expect(shared.value.setOffset(4))
                begun.open()
                gate.wait()
            })
        let context = BlobContext()
        let shared = UnsafeTransfer(BlobInputStream(source, context: context))  // May be used on several threads.
        opener.withLock { $0 = shared }
        shared.value.open()
        try await onThreads(2) { number in
            if number == 0 {
                _ = shared.value.readAll()
            } else {
                begun.wait()
                let isWaiting = shared.value.control
                Thread.detachNewThread { isWaiting.cancel() }
                #expect(!shared.value.setOffset(2))
                gate.open()
            }
        }
    }

    @Test func nothingOfAPluginIsCalledOnTheThreadOfAnAsynchronousCaller() async throws {
        let source = WatchedSource(MemorySource(count: 200_000))
        try await onThread {
            Thread.current.threadDictionary[WatchedSource.callerKey] = true
            let stream = BlobInputStream(source, mode: .asynchronous)
            stream.open()
            _ = (stream.streamStatus, stream.hasBytesAvailable, stream.setOffset(7), stream.setOffset(150_000))
            #expect(stream.readBytes(100_000).count > 0)
            _ = (stream.setOffset(3), stream.unopenedCopy().offset)
            #expect(stream.readAll() != nil)
            stream.open()  // Starts over.
            #expect(stream.readBytes(1).count == 1)
            stream.close()
        }
        await source.closings.values(count: source.openings.values.count)
        #expect(source.callsOfCaller.values == [])
    }

    @Test func closingAnAsynchronousStreamDoesNotWaitForASlowReader() async throws {
        let gate = Latch()
        let source = WatchedSource(MemorySource(count: 200_000), onClose: { gate.waitOrFail() })
        try await onThread {
            let stream = BlobInputStream(source, mode: .asynchronous)
            stream.open()
            #expect(stream.readBytes(1).count == 1)
            stream.close()
            gate.open()
        }
        await source.closings.values(count: 1)
    }

    @Test func lendingDoesNotWaitForTheReadOfAnotherThread() async throws {
        let (gate, begun) = (Latch(), Latch())
        let source = WatchedSource(
            MemorySource(count: 10),
            onRead: {
                begun.open()
                gate.waitOrFail()
            })
        let shared = UnsafeTransfer(BlobInputStream(source))  // May be used on several threads.
        shared.value.open()
        try await onThreads(2) { number in
            if number == 0 {
                #expect(shared.value.readBytes(10).count == 10)
            } else {
                begun.wait()
                var (buffer, length) = (UnsafeMutablePointer<UInt8>?.none, 0)
                #expect(!shared.value.getBuffer(&buffer, length: &length))
                gate.open()
            }
        }
    }

    /// A call that was turned down is not the fate of the stream.
    @Test(arguments: BlobInputStreamTests.modes)
    func theErrorOfAReadBeforeOpeningIsGoneAfterTheNextCall(_ mode: BlobStreamMode) async throws {
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 3), mode: mode)
            #expect(stream.readBytes(1).count == -1)
            #expect(stream.errorCode == .closed)
            stream.open()
            #expect(stream.streamError == nil)
            #expect(stream.readAll() == testBytes(3))
            #expect(stream.streamStatus == .atEnd)
            #expect(stream.streamError == nil)
            let pair = BoundStreamPair()
            #expect(pair.output.writeBytes([1]) == -1)
            #expect(pair.output.errorCode == .closed)
            pair.output.open()
            #expect(pair.output.streamError == nil)
            #expect(pair.output.writeBytes([1]) == 1)
            #expect(pair.output.streamError == nil)
        }
    }
}

extension Latch {
    /// Waits for somebody who, if all is well, does not wait for this.
    fileprivate func waitOrFail() {
        let end = ContinuousClock.now + .seconds(20)
        let signal = WaitSignal()
        while !self.isOpen, ContinuousClock.now < end { _ = signal.wait(for: .milliseconds(1)) }
        #expect(self.isOpen, "A call waits for the one that is to end it.")
    }
}

/// A source that notes which calls of its readers overlap, and on which threads they are made.
private final class WatchedSource: BlobInputStreamDataSource {
    /// Marks the thread of the one who calls the stream.
    static let callerKey = "isCaller"

    let overlaps = Recorder<String>()
    let callsOfCaller = Recorder<String>()
    let openings = Recorder<Int64>()
    let closings = Recorder<Bool>()
    private let base: any BlobInputStreamDataSource
    private let ownTraits: BlobTraits?
    private let calls: Locked<[String]>?  // Of all readers.
    private let onRead: @Sendable () -> Void
    private let onClose: @Sendable () -> Void

    init(
        _ base: any BlobInputStreamDataSource, traits: BlobTraits? = nil, watchesAll: Bool = false,
        onRead: @escaping @Sendable () -> Void = {}, onClose: @escaping @Sendable () -> Void = {}
    ) {
        self.base = base
        self.ownTraits = traits
        self.calls = watchesAll ? Locked([]) : nil
        self.onRead = onRead
        self.onClose = onClose
    }

    var traits: BlobTraits {
        // Constant, and so asked on any thread.
        let traits = self.ownTraits ?? self.base.traits
        return self.base is MemorySource ? traits.subtracting(.neverBlocks) : traits
    }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        self.note("source.info")
        return try self.base.describe(context)
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try self.watch("open", self.calls ?? Locked([])) {
            let reader = try self.base.open(opening)
            self.openings.append(opening.byteOffset)
            return .stream(Stream(reader, self), startingAt: opening.byteOffset)
        }
    }

    private func note(_ call: String) {
        if Thread.current.threadDictionary[Self.callerKey] != nil { self.callsOfCaller.append(call) }
    }

    /// Notes a call, and gives others the time to come in between.
    private func watch<Result>(_ call: String, _ calls: Locked<[String]>, _ body: () throws -> Result) rethrows
        -> Result
    {
        self.note(call)
        let others = calls.withLock { calls in
            defer { calls.append(call) }
            return calls
        }
        for other in others { self.overlaps.append("\(other)/\(call)") }
        defer { calls.withLock { calls in calls.firstIndex(of: call).map { _ = calls.remove(at: $0) } } }
        for _ in 0..<20 { sched_yield() }
        return try body()
    }

    private final class Stream: BlobByteStream {
        private let base: BlobReader
        private let source: WatchedSource
        private let calls: Locked<[String]>

        init(_ base: BlobReader, _ source: WatchedSource) {
            (self.base, self.source, self.calls) = (base, source, source.calls ?? Locked([]))
        }

        var info: BlobInfo? { get throws { try self.source.watch("info", self.calls) { try self.base.knownInfo() } } }
        var neverBlocks: Bool { self.base.neverBlocks && self.source.traits.contains(.neverBlocks) }
        var readiness: BlobWakerSlot? { self.source.watch("readiness", self.calls) { self.base.readiness } }

        func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
            try self.source.watch("read", self.calls) {
                self.source.onRead()
                return try self.base.read(into: &output)
            }
        }

        func close() {
            self.source.watch("close", self.calls) {
                self.source.onClose()
                self.source.closings.append(true)
                self.base.close()
            }
        }
    }
}
