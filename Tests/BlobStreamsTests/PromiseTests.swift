import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// What must hold across layers, each once found broken.
@Suite struct PromiseTests {
    private struct Sum: BlobDigest, BlobHasher {
        let name = "sum"
        private var sum: UInt8 = 0
        func makeHasher() -> any BlobHasher { self }
        mutating func update(_ bytes: UnsafeRawBufferPointer) { self.sum = bytes.reduce(self.sum) { $0 &+ $1 } }
        mutating func finalize() -> [UInt8] { [self.sum] }
    }

    private struct Located: BlobInputStreamDataSource {
        let base = MemorySource([1, 2, 3])
        var traits: BlobTraits { [.repeatable, .concurrentReaders] }
        var locator: BlobLocator? { try? BlobLocator("memory:there") }
        func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.describe(context) }
        func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.base.makeBody(opening) }
    }

    @Test func aSliceUpToTheEndOfItsBaseChecksWhatTheBaseChecksThere() {
        let wrong = MemorySource([1, 2, 3]).hashing(with: Sum(), expected: [9])
        let error = #expect(throws: BlobError.self) { try wrong.slice(1..<3).data(upTo: 10) }
        #expect(error?.code == .checksumMismatch)
        let right = MemorySource([1, 2, 3]).hashing(with: Sum(), expected: [6])
        #expect(throws: Never.self) { try right.slice(1..<3).data(upTo: 10) }
    }

    @Test func aWrongDigestSaysOfWhat() {
        let wrong = Located().hashing(with: Sum(), expected: [9])
        let error = #expect(throws: BlobError.self) { try wrong.data(upTo: 10) }
        #expect(error?.locator == "memory:there")
        #expect(error?.byteOffset == 3)
    }

    @Test func theErrorsOfAsynchronousReadingHaveTheirContext() async {
        let pipe = BlobPipe()
        let source = pipe.source.counting { _, _, _ in }
        let error = await #expect(throws: BlobError.self) {
            for try await _ in source.chunks(context: BlobContext(idleLimit: .milliseconds(10))) {}
        }
        #expect(error?.code == .timedOut)
        #expect(error?.operation == "read")
        #expect(error?.byteOffset == 0)
        #expect(error?.layers == ["CountingSource", "BlobPipe"])
        let lines = await #expect(throws: BlobError.self) {
            for try await _ in MemorySource(Array("a\nlong line".utf8)).lines(ofAtMost: 4) {}
        }
        #expect(lines?.layers == ["MemorySource"])
        #expect(lines?.byteOffset == 2)
    }

    @Test func cancellingAProgressEndsAllItsReadersAndCallsTheHandlerThatWasThere() async throws {
        let progress = Progress(totalUnitCount: 0)
        let earlier = Locked(false)
        progress.cancellationHandler = { earlier.withLock { $0 = true } }
        let isReading = Recorder<Bool>()
        let stuck = ClosureSource { _, _, context in
            isReading.append(true)
            try BlobObservable(false).wait(context) { $0 ? () : nil }
        }
        let source = stuck.reporting(to: progress)
        let codes = Locked<[BlobError.Code?]>([])
        let reading = Task {
            try await onThreads(2) { _ in
                let code = codeThrown { try source.data(upTo: 10) }
                codes.withLock { $0.append(code) }
            }
        }
        await isReading.values(count: 2)
        progress.cancel()
        _ = try await reading.value
        #expect(codes.withLock { $0 } == [.cancelled, .cancelled])
        #expect(earlier.withLock { $0 })
    }

    @Test func aPartThatCannotBeOpenedFailsAgainOnEachRead() throws {
        let missing = SequentialSource(info: BlobInfo(byteCount: 1)) { _ in throw BlobError(.notFound, "Gone.") }
        let source = ConcatenatedSource([MemorySource([1]), missing])
        let reader = try source.open()
        withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            #expect(throws: Never.self) { try reader.read(into: &output) }
            #expect(output.byteCount == 1)
            for _ in 0..<3 { #expect(throws: BlobError.self) { try reader.read(into: &output) } }
            _ = output.finalize(for: buffer)
        }
    }

    @Test func aNegativeByteCountIsThePluginsFault() {
        let source = ClosureSource(info: BlobInfo(byteCount: -5)) { _, _, _ in }
        #expect(throws: BlobError.self) { try source.open() }
    }

    @Test func theLargestOffsetIsNoTrap() throws {
        let endless = ClosureSource { _, output, _ in output.append(0) }
        let reader = try endless.open(at: .max)
        let error = #expect(throws: BlobError.self) {
            try withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { try reader.readBlocking(into: $0) }
        }
        #expect(error?.code == .limitExceeded)
    }
}
