import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// The bytes of a source in any output stream.
@Suite(.timeLimit(.minutes(5))) struct OutputStreamTests {
    /// More than two pieces of 128 KiB.
    private let bytes = Data(testBytes(300_000))
    private let failing = ClosureSource { offset, output, _ in
        guard offset == 0 else { throw BlobError(.refused, "No.") }
        output.append(repeating: 1, count: 10, as: UInt8.self)
    }

    private func write(_ source: any BlobInputStreamDataSource, to stream: OutputStream) throws -> Int64 {
        try source.write(to: stream)
    }

    /// Takes a few bytes a call, and ends after `capacity` with 0 or with an error.
    private final class SmallStream: OutputStream {
        private(set) var taken: [UInt8] = []
        private(set) var events: [String] = []
        private let capacity: Int
        private let atCapacity: Int
        private var status = Stream.Status.notOpen

        init(capacity: Int = .max, atCapacity: Int = 0) {
            (self.capacity, self.atCapacity) = (capacity, atCapacity)
            super.init(toMemory: ())
        }

        required init(toMemory: ()) {
            (self.capacity, self.atCapacity) = (.max, 0)
            super.init(toMemory: ())
        }

        override var streamStatus: Stream.Status { self.status }
        override var streamError: (any Error)? { POSIXError(.ENOSPC) }
        override func open() { (self.status, self.events) = (.open, self.events + ["open"]) }
        override func close() { (self.status, self.events) = (.closed, self.events + ["close"]) }
        override func write(_ buffer: UnsafePointer<UInt8>, maxLength: Int) -> Int {
            guard self.taken.count < self.capacity else {
                if self.atCapacity < 0 { self.status = .error }
                return self.atCapacity
            }
            let count = min(maxLength, 777, self.capacity - self.taken.count)
            self.taken += UnsafeBufferPointer(start: buffer, count: count)
            return count
        }
    }

    @Test func memoryHasAllBytes() throws {
        let stream = OutputStream(toMemory: ())
        #expect(try self.write(MemorySource(self.bytes), to: stream) == 300_000)
        #expect(stream.property(forKey: .dataWrittenToMemoryStreamKey) as? Data == self.bytes)
        #expect(stream.streamStatus == .open)
    }

    @Test func aFileHasAllBytes() async throws {
        let folder = try TemporaryFolder()
        let stream = try #require(OutputStream(url: folder.url("a"), append: false))
        let count = try await MemorySource(self.bytes).write(to: stream)
        #expect(count == 300_000)
        stream.close()
        #expect(try Data(contentsOf: folder.url("a")) == self.bytes)
    }

    /// The stream is used by the caller before and after.
    @Test func whatFollowsIsAppended() async throws {
        let stream = SmallStream()
        let count = try await MemorySource(self.bytes).write(to: stream)
        let more = try await MemorySource([7, 8]).write(to: stream)
        #expect(count == 300_000 && more == 2)
        // Not compared in the expectation, which would look for the differences of long arrays.
        let isWhole = stream.taken == Array(self.bytes) + [7, 8]
        #expect(isWhole)
        #expect(stream.events == ["open"])
    }

    /// An actor keeps its stream while another thread writes to it.
    @Test func theStreamOfAnActorIsWrittenTo() async throws {
        @MainActor final class Owner {
            let stream = OutputStream(toMemory: ())

            func copy(_ bytes: Data) async throws -> Data? {
                try await MemorySource(bytes).write(to: self.stream)
                return self.stream.property(forKey: .dataWrittenToMemoryStreamKey) as? Data
            }
        }
        #expect(try await Owner().copy(self.bytes) == self.bytes)
    }

    @Test func anEmptySourceOpensTheStream() throws {
        let stream = SmallStream()
        #expect(try self.write(MemorySource([]), to: stream) == 0)
        #expect(stream.events == ["open"])
    }

    @Test func aFullStreamIsALimit() throws {
        let stream = SmallStream(capacity: 1000)
        #expect(codeThrown { try self.write(MemorySource(self.bytes), to: stream) } == .limitExceeded)
        #expect(stream.taken == Array(self.bytes.prefix(1000)))
    }

    @Test func anErrorOfTheStreamIsTheCause() throws {
        let stream = SmallStream(capacity: 200_000, atCapacity: -1)
        let error = try #require(throws: BlobError.self) { try self.write(MemorySource(self.bytes), to: stream) }
        #expect(error.code == .io && error.operation == "write")
        #expect(error.message.contains(String(cString: strerror(ENOSPC))), "\(error)")
        #expect((error.cause as? POSIXError)?.code == .ENOSPC)
    }

    @Test func aStreamThatCannotBeOpenedIsAnError() throws {
        let folder = try TemporaryFolder()
        for source in [MemorySource(self.bytes), MemorySource([])] {
            let stream = try #require(OutputStream(url: folder.url("none/a"), append: false))
            let error = try #require(throws: BlobError.self) { try self.write(source, to: stream) }
            #expect(error.code == .notFound && error.operation == "write", "\(error)")
        }
    }

    /// An error of the source neither closes the stream, which would end its bytes, nor opens one before the source.
    @Test func anErrorOfTheSourceLeavesTheStreamOpen() throws {
        let stream = SmallStream()
        let error = try #require(throws: BlobError.self) { try self.write(self.failing, to: stream) }
        #expect(error.code == .refused && error.operation == "read")
        #expect(stream.taken.count == 10 && stream.events == ["open"])

        let unopened = SmallStream()
        let missing = MemorySource([1]).slice(9..<10)
        #expect(codeThrown { try self.write(missing, to: unopened) } != nil)
        #expect(unopened.taken.isEmpty)
    }

    @Test func aBoundPairGetsAllBytesThroughLittleRoom() async throws {
        let pair = BoundStreamPair(capacity: 7)
        let (output, input) = (UnsafeTransfer(pair.output), UnsafeTransfer(pair.input))
        let bytes = self.bytes.prefix(5000)
        async let written = onThread {
            let count = try MemorySource(bytes).write(to: output.value)
            output.value.close()
            return count
        }
        let source = InputStreamSource(isRepeatable: false) { input.value }
        let read = try await onThread { try source.data(upTo: 5000) }
        #expect(read == bytes)
        #expect(try await written == 5000)
    }

    @Test func aReaderThatClosesIsAnError() throws {
        let pair = BoundStreamPair(capacity: 8)
        pair.input.open()
        pair.input.close()
        #expect(codeThrown { try self.write(MemorySource(self.bytes), to: pair.output) } == .closed)
    }

    @Test func cancellingTheTaskEndsTheCopy() async throws {
        let source = PlayedStream()
        source.push([1, 2, 3])
        let task = Task { await asyncCodeThrown { try await source.write(to: OutputStream(toMemory: ())) } }
        await source.reads.values(count: 2)
        task.cancel()
        #expect(await task.value == .cancelled)
    }
}
