import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct InputStreamSourceTests {
    private let bytes = Self.pattern
    private static let pattern = Data((0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 5 >> 2) })

    /// Gives three bytes, then fails; or blocks until it is let go.
    private final class PlayedStream: InputStream {
        private let gate: Latch?
        private let reads = Recorder<Bool>()
        private let status = Locked(Stream.Status.notOpen)
        private let onRead: @Sendable () -> Void

        init(gate: Latch? = nil, onRead: @escaping @Sendable () -> Void = {}) {
            self.gate = gate
            self.onRead = onRead
            super.init(data: Data())
        }

        override var streamStatus: Stream.Status { self.status.withLock { $0 } }
        override var streamError: (any Error)? { POSIXError(.EIO) }
        override var hasBytesAvailable: Bool { true }
        override func open() { self.status.withLock { $0 = .open } }
        override func close() {}
        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
            self.onRead()
            self.gate?.wait()
            defer { self.reads.append(true) }
            guard self.reads.values.isEmpty else {
                self.status.withLock { $0 = .error }
                return -1
            }
            for index in 0..<3 { buffer[index] = UInt8(index) }
            return 3
        }
    }

    @Test func theBytesOfAStreamOfData() async throws {
        let source = InputStreamSource { [bytes] in InputStream(data: bytes) }
        #expect(source.traits == [.neverBlocks, .repeatable, .concurrentReaders])
        for _ in 0..<2 { #expect(try await source.data(upTo: bytes.count) == bytes) }
    }

    @Test func theBytesOfAStreamOfAFile() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try bytes.write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let source = InputStreamSource(info: BlobInfo(byteCount: Int64(bytes.count))) { InputStream(url: url) }
        #expect(try await source.data(upTo: bytes.count) == bytes)
        var all = Data()
        for try await chunk in source.chunks(ofAtMost: 1000, at: 100_001) { all += chunk }
        #expect(all == bytes[100_001...])
    }

    @Test func aStreamMayBeReadOnce() async throws {
        let source = InputStreamSource(isRepeatable: false) { [bytes] in InputStream(data: bytes) }
        #expect(source.traits == .neverBlocks)
        _ = try await source.data(upTo: bytes.count)
        #expect(codeThrown { try source.open() } == .unsupported)
    }

    @Test func anEmptyStreamEnds() async throws {
        #expect(try await InputStreamSource { InputStream(data: Data()) }.data(upTo: 0).isEmpty)
    }

    @Test func noStreamIsUnavailable() async {
        #expect(await asyncCodeThrown { try await InputStreamSource { nil }.data(upTo: 9) } == .unavailable)
    }

    /// Foundation's `streamError` ends the process on Linux where the stream has no error.
    @Test func aStreamThatIsGivenOutTwiceIsAnError() async throws {
        let stream = UnsafeTransfer(InputStream(data: bytes))  // To one reading after the other.
        let source = InputStreamSource { stream.value }
        #expect(try await source.data(upTo: bytes.count) == bytes)
        #expect(await asyncCodeThrown { try await source.data(upTo: bytes.count) } == .misbehavingPlugin)
    }

    @Test func aStreamThatSomebodyOpenedOrClosedIsAnError() async {
        for steps in 1...2 {
            let source = InputStreamSource { [bytes] in
                let stream = InputStream(data: bytes)
                stream.open()
                if steps == 2 { stream.close() }
                return stream
            }
            #expect(await asyncCodeThrown { try await source.data(upTo: bytes.count) } == .misbehavingPlugin)
        }
    }

    @Test func aStreamThatIsClosedWhileItIsReadIsAnError() async {
        let bytes = Data(testBytes(8 << 20))  // More than is read ahead.
        let stream = UnsafeTransfer(InputStream(data: bytes))  // Closed between two reads of the source.
        var all = Data()
        let error = await #expect(throws: BlobError.self) {
            for try await chunk in InputStreamSource(makeStream: { stream.value }).chunks(ofAtMost: 1 << 16) {
                all += chunk
                stream.value.close()
            }
        }
        #expect(bytes.starts(with: all))
        #expect(error?.code == .io)
    }

    /// Past the 512 threads that the pool has at most, all wanted before any of them is free.
    @Test func manyReadingsAtOnceDoNotWaitForOneAnother() async throws {
        let source = InputStreamSource { [bytes] in InputStream(data: bytes.prefix(1000)) }
        let stuck = StuckSource()
        let begun = Recorder<Bool>()
        try await withThrowingTaskGroup { group in
            for _ in 0..<48 { group.addTask { try await stuck.data(upTo: 1).count } }
            await stuck.reads.values(count: 48)
            for _ in 0..<600 {
                group.addTask {
                    begun.append(true)
                    return try await source.data(upTo: 1000).count
                }
            }
            await begun.values(count: 600)
            stuck.gate.open()
            let counts = try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            #expect(counts == [0: 48, 1000: 600])
        }
    }

    @Test func aStreamThatDoesNotOpenIsAnError() async {
        let url = URL(fileURLWithPath: "/nonexistent/\(UUID().uuidString)")
        #expect(await asyncCodeThrown { try await InputStreamSource { InputStream(url: url) }.data(upTo: 9) } != nil)
    }

    @Test func anErrorComesAfterTheBytesBeforeIt() async throws {
        var all = Data()
        let error = await #expect(throws: BlobError.self) {
            for try await chunk in InputStreamSource(makeStream: { PlayedStream() }).chunks() { all += chunk }
        }
        #expect(all == Data([0, 1, 2]))
        #expect(error?.code == .io)
        #expect(error?.cause is POSIXError)
    }

    @Test func cancellingEndsAWaitForAStuckStream() async throws {
        let (gate, begins) = (Latch(), Latch())
        let source = InputStreamSource { PlayedStream(gate: gate, onRead: { begins.open() }) }
        let task = Task { await asyncCodeThrown { try await source.data(upTo: 9) } }
        await begins.opened()
        let watch = CancellationWatch()
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await watch.isInTime)
        gate.open()
    }
}
