import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// An observer may call anything of its stream: nothing that a stream does waits for its observers.
@Suite(.timeLimit(.minutes(120))) struct StreamReentryTests {
    /// A call that a handler makes on its stream.
    enum Call: CaseIterable, Sendable {
        case readByte, readAll, lend, status, property, setForeignProperty, seekToStart, seekOn, open, close, copy

        func run(on stream: BlobInputStream) {
            switch self {
            case .readByte: _ = stream.readBytes(1)
            case .readAll: _ = stream.readAll(by: 7)
            case .lend:
                var (buffer, length) = (UnsafeMutablePointer<UInt8>?.none, 0)
                _ = stream.getBuffer(&buffer, length: &length)
            case .status: _ = (stream.streamStatus, stream.streamError, stream.hasBytesAvailable)
            case .property: _ = stream.property(forKey: .color)
            case .setForeignProperty: _ = stream.setProperty(NSNumber(value: 1), forKey: .color)
            // Once: a stream that starts over each time that it comes to its end has none.
            case .seekToStart: if stream.offset == 20 { _ = stream.setOffset(0) }
            case .seekOn: if let offset = stream.offset, offset < 15 { _ = stream.setOffset(offset + 3) }
            case .open: stream.open()
            case .close: stream.close()
            case .copy: stream.unopenedCopy().close()
            }
        }
    }

    /// The part of the state that is observed.
    enum Aspect: CaseIterable {
        case everything, phase, hasBytesAvailable, byteOffset

        func observe(_ stream: BlobInputStream, _ handler: @escaping @Sendable () -> Void) -> BlobRegistration {
            switch self {
            case .everything: stream.state.observe(\.self) { _ in handler() }
            case .phase: stream.state.observe(\.phase) { _ in handler() }
            case .hasBytesAvailable: stream.state.observe(\.hasBytesAvailable) { _ in handler() }
            case .byteOffset: stream.state.observe(\.byteOffset) { _ in handler() }
            }
        }
    }

    /// One life of a stream with a handler that makes `call`.
    private func use(
        _ source: any BlobInputStreamDataSource, _ mode: BlobStreamMode,
        observing aspect: Aspect, _ call: Call
    ) {
        let stream = BlobInputStream(source, mode: mode)
        let shared = UnsafeTransfer(stream)  // Streams may be used on several threads.
        let callCount = Locked(0)
        let token = aspect.observe(stream) {
            // A handler that always makes another change would never be done.
            let isAllowed = callCount.withLock { count in
                count += 1
                return count <= 50
            }
            if isAllowed { call.run(on: shared.value) }
        }
        stream.open()
        for _ in 0..<3 { _ = stream.readBytes(3) }
        _ = stream.setOffset(5)
        _ = stream.readAll(by: 4)
        stream.close()
        token.cancel()
    }

    @Test(arguments: BlobInputStreamTests.modes, Call.allCases)
    func anObserverMayCallAnythingOfItsStream(_ mode: BlobStreamMode, _ call: Call) async throws {
        let rounds = environmentNumber("BLOBSTREAMS_ROUNDS").map { $0 / 100 } ?? 5
        for _ in 0..<rounds {
            for kind in SourceKind.allCases {
                try await onThread {
                    for aspect in Aspect.allCases { self.use(kind.source(20), mode, observing: aspect, call) }
                }
            }
        }
    }

    /// Past several windows of 64 KiB; also through readers that stand on another one.
    @Test(arguments: BlobInputStreamTests.modes, SourceKind.allCases.map(Optional.init) + [nil])
    func anObserverMayReadToTheEnd(_ mode: BlobStreamMode, _ kind: SourceKind?) async throws {
        let results = Recorder<[UInt8]?>()
        try await onThread {
            let slice = InputStreamSource { InputStream(data: Data(testBytes(300_000))) }.slice(0..<300_000)
            let stream = BlobInputStream(kind?.source(300_000) ?? slice, mode: mode)
            let shared = UnsafeTransfer(stream)  // As above.
            let token = stream.state.observe(\.hasBytesAvailable) { change in
                if change.new == true, results.values.isEmpty { results.append(shared.value.readAll(by: 1000)) }
            }
            stream.open()
            results.waitForValues(count: 1)
            token.cancel()
        }
        #expect(results.values == [testBytes(300_000)])
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func aReadOfAnotherThreadDoesNotWaitForAnObserver(_ mode: BlobStreamMode) async throws {
        // A reading that waits already when the bytes come, as nearly each does.
        for _ in 0..<20 {
            try await onThread {
                let gate = Latch()
                let pipe = BlobPipe()
                let stream = BlobInputStream(pipe.source, mode: mode)
                let shared = UnsafeTransfer(stream)  // As above.
                // What the reading thread itself changes, it tells.
                let token = stream.state.observe(\.hasBytesAvailable) { _ in
                    if Thread.current.threadDictionary["isReading"] == nil { gate.wait() }
                }
                stream.open()
                let (begun, reading) = (Latch(), Recorder<[UInt8]>())
                Thread {
                    Thread.current.threadDictionary["isReading"] = true
                    begun.open()
                    reading.append(shared.value.readBytes(1).bytes)
                    gate.open()
                }.start()
                begun.wait()
                try pipe.write(Data([1]))
                #expect(reading.waitForValues(count: 1) == [[1]])
                token.cancel()
            }
        }
    }

    // MARK: Lending

    /// The memory stays until the stream is called again, whatever ends the stream meanwhile.
    @Test func aLentWindowOutlivesACancellation() async throws {
        let context = BlobContext()
        try await onThread {
            let stream = BlobInputStream(MemorySource(count: 50_000), mode: .asynchronous, context: context)
            let hasFailed = Latch()
            let token = stream.state.observe(\.phase) { if $0.new == .failed { hasFailed.open() } }
            stream.open()
            #expect(stream.readBytes(1).count == 1)
            var (buffer, length) = (UnsafeMutablePointer<UInt8>?.none, 0)
            try #require(stream.getBuffer(&buffer, length: &length))
            Thread { context.cancellation.cancel() }.start()
            hasFailed.wait()
            #expect(Array(UnsafeBufferPointer(start: buffer, count: length)) == Array(testBytes(50_000).dropFirst()))
            token.cancel()
            #expect(!stream.getBuffer(&buffer, length: &length))
        }
    }
}
