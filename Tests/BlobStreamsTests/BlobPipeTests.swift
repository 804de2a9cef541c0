import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct BlobPipeTests {
    private let hello = Data("hello".utf8)

    /// Not so long that it would fit, and each byte tells its place.
    private func pattern(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }) }

    private func tryWrite(_ pipe: BlobPipe, _ bytes: Data) throws -> Int {
        try bytes.withUnsafeBytes { try pipe.tryWrite($0) }
    }

    /// The blocking form, which the compiler would not choose in an asynchronous test.
    private func write(_ pipe: BlobPipe, _ bytes: Data, context: BlobContext = BlobContext()) throws {
        try pipe.write(bytes, context: context)
    }

    private func read(_ reader: BlobReader, _ count: Int = 4096, waits: Bool = true) throws -> Data {
        try Data(readingAtMost: count, from: reader, waits: waits)
    }

    /// Reads all bytes, blocking.
    private func readAll(_ source: any BlobInputStreamDataSource, at offset: Int64 = 0) async throws -> Data {
        try await onThread {
            let reader = try source.open(at: offset)
            defer { reader.close() }
            return try Data(BlobTestSupport.readAll(reader, inPiecesOf: 4096))
        }
    }

    // MARK: Bytes and the end

    /// A chunk has the memory of the pipe, whose place the next bytes would take.
    @Test func aChunkStaysAsItIsWhileThePipeIsFilledAgain() async throws {
        let pipe = BlobPipe(capacity: 16)
        try pipe.write(Data(0..<16), context: BlobContext())
        var iterator = pipe.source.chunks(ofAtMost: 4).makeAsyncIterator()
        var chunks: [Data] = []
        for round in 1...20 {
            chunks.append(try #require(try await iterator.next()))
            try pipe.write(Data(UInt8(12 + 4 * round)..<UInt8(16 + 4 * round)), context: BlobContext())
        }
        #expect(chunks.reduce(Data(), +) == Data(0..<80))
    }

    @Test func bytesComeInOrderAndThenTheEnd() async throws {
        let pipe = BlobPipe()
        try self.write(pipe, Data("hel".utf8))
        try self.write(pipe, Data())
        try self.write(pipe, Data("lo".utf8))
        pipe.finish()
        pipe.finish(throwing: CancellationError())  // Only the first counts.
        #expect(try await self.readAll(pipe.source) == hello)
    }

    @Test func anEmptyPipeEnds() async throws {
        let pipe = BlobPipe()
        pipe.finish()
        #expect(try await self.readAll(pipe.source).isEmpty)
    }

    @Test(arguments: [1, 2, 3, 7, 64]) func aSmallPipePassesManyBytesOn(capacity: Int) async throws {
        let pipe = BlobPipe(capacity: capacity)
        let bytes = self.pattern(3000)
        async let writing: Void = onThread {
            try self.write(pipe, bytes)
            pipe.finish()
        }
        #expect(try await self.readAll(pipe.source) == bytes)
        try await writing
    }

    @Test(arguments: [1, 5, 64]) func anAsynchronousWriterWaitsForRoom(capacity: Int) async throws {
        let pipe = BlobPipe(capacity: capacity)
        let bytes = self.pattern(1000)
        async let reading = self.readAll(pipe.source)
        try await pipe.write(bytes)
        pipe.finish()
        #expect(try await reading == bytes)
    }

    @Test func theErrorOfTheProducerComesAfterItsBytes() async throws {
        let pipe = BlobPipe()
        try self.write(pipe, hello)
        pipe.finish(throwing: BlobError(.refused, "No."))
        // What is there already is read without waiting.
        let reader = try pipe.source.open()
        #expect(try self.read(reader) == hello)
        #expect(codeThrown { try self.read(reader) } == .refused)
        #expect(codeThrown { try self.read(reader) } == .refused)
    }

    @Test func aProducerThatGoesAwayWithoutFinishIsNoEnd() async throws {
        var pipe: BlobPipe? = BlobPipe()
        let source = try #require(pipe?.source)
        try pipe.map { try self.write($0, hello) }
        pipe = nil
        let reader = try source.open()
        #expect(try self.read(reader) == hello)
        #expect(codeThrown { try self.read(reader) } == .truncated)
    }

    @Test func aReaderThatWaitsLearnsThatTheProducerWentAway() async throws {
        var pipe: BlobPipe? = BlobPipe()
        let source = try #require(pipe?.source)
        async let code = asyncCodeThrown { try await self.readAll(source) }
        pipe = nil
        #expect(await code == .truncated)
    }

    // MARK: Room

    @Test func tryWriteTakesWhatFits() async throws {
        let pipe = BlobPipe(capacity: 8)
        #expect(try self.tryWrite(pipe, hello) == 5)
        #expect(try self.tryWrite(pipe, hello) == 3)
        #expect(try self.tryWrite(pipe, hello) == 0)
        let reader = try pipe.source.open()
        #expect(try self.read(reader, 4) == Data("hell".utf8))
        #expect(try self.tryWrite(pipe, Data("abcdef".utf8)) == 4)
        #expect(try self.read(reader) == Data("ohelabcd".utf8))
        #expect(try self.read(reader, waits: false).isEmpty)
    }

    @Test func aFullPipeBlocksItsWriterUntilBytesAreRead() async throws {
        let pipe = BlobPipe(capacity: 4)
        let reader = try pipe.source.open()
        let isDone = Latch()
        async let writing: Void = onThread { [hello] in
            try self.write(pipe, hello)
            isDone.open()
        }
        let isFull = Latch()
        reader.whenReadable(BlobWaker { isFull.open() })
        await isFull.opened()
        // Five bytes do not go into four, whatever the threads do.
        #expect(!isDone.isOpen)
        #expect(try self.read(reader) == Data("hell".utf8))
        try await writing
        #expect(try self.read(reader) == Data("o".utf8))
    }

    @Test func producersTakeTurnsAndEachKeepsItsOrder() async throws {
        let (producerCount, byteCount) = (4, 600)
        let pipe = BlobPipe(capacity: 16)
        async let reading = self.readAll(pipe.source)
        try await onThreads(producerCount) { producer in
            // The upper two bits are the producer, the others count.
            for number in 0..<byteCount { try self.write(pipe, Data([UInt8(producer << 6 | number % 64)])) }
        }
        pipe.finish()
        let bytes = try await reading
        #expect(bytes.count == producerCount * byteCount)
        for producer in 0..<producerCount {
            let numbers = bytes.filter { Int($0 >> 6) == producer }.map { Int($0 & 63) }
            #expect(numbers == (0..<byteCount).map { $0 % 64 })
        }
    }

    // MARK: Ends that the writer learns of

    @Test func afterFinishAWriteThrowsClosed() async throws {
        let pipe = BlobPipe()
        pipe.finish()
        #expect(codeThrown { try self.write(pipe, hello) } == .closed)
        #expect(codeThrown { try self.tryWrite(pipe, hello) } == .closed)
        #expect(await asyncCodeThrown { try await pipe.write(hello) } == .closed)
    }

    @Test func onceTheReaderIsClosedAWriteThrowsClosed() async throws {
        let pipe = BlobPipe()
        let reader = try pipe.source.open()
        try self.write(pipe, hello)
        reader.close()
        #expect(codeThrown { try self.write(pipe, hello) } == .closed)
        #expect(codeThrown { try self.tryWrite(pipe, hello) } == .closed)
        #expect(await asyncCodeThrown { try await pipe.write(hello) } == .closed)
        #expect(codeThrown { try self.read(reader) } == .closed)
    }

    @Test func aReaderThatIsReleasedIsClosed() throws {
        let pipe = BlobPipe()
        _ = try pipe.source.open()
        #expect(codeThrown { try self.write(pipe, hello) } == .closed)
    }

    @Test func closingTheReaderWakesABlockedWriter() async throws {
        let pipe = BlobPipe(capacity: 1)
        let reader = try pipe.source.open()
        async let code = onThread { [hello] in codeThrown { try self.write(pipe, hello) } }
        let asynchronous = Task { [hello] in await asyncCodeThrown { try await pipe.write(hello) } }
        try await self.waitUntilFull(reader: pipe)
        reader.close()
        #expect(try await code == .closed)
        #expect(await asynchronous.value == .closed)
    }

    @Test func finishWakesABlockedWriter() async throws {
        let pipe = BlobPipe(capacity: 1)
        async let code = onThread { [hello] in codeThrown { try self.write(pipe, hello) } }
        try await self.waitUntilFull(reader: pipe)
        pipe.finish()
        #expect(try await code == .closed)
    }

    @Test func cancellingWakesABlockedWriterWithinASecond() async throws {
        let pipe = BlobPipe(capacity: 1)
        let context = BlobContext()
        async let code = onThread { [hello] in codeThrown { try self.write(pipe, hello, context: context) } }
        try await self.waitUntilFull(reader: pipe)
        let watch = CancellationWatch()
        context.cancellation.cancel()
        #expect(try await code == .cancelled)
        #expect(await watch.isInTime)
    }

    @Test func cancellingTheTaskWakesASuspendedWriterWithinASecond() async throws {
        let pipe = BlobPipe(capacity: 1)
        let writing = Task { [hello] in await asyncCodeThrown { try await pipe.write(hello) } }
        try await self.waitUntilFull(reader: pipe)
        let watch = CancellationWatch()
        writing.cancel()
        #expect(await writing.value == .cancelled)
        #expect(await watch.isInTime)
    }

    @Test(arguments: [
        BlobContext(deadline: .now.advanced(by: .milliseconds(20))), BlobContext(idleLimit: .milliseconds(20)),
    ])
    func theDeadlineAndTheIdleLimitEndABlockedWrite(context: BlobContext) async throws {
        let pipe = BlobPipe(capacity: 1)
        let code = try await onThread { [hello] in codeThrown { try self.write(pipe, hello, context: context) } }
        #expect(code == .timedOut)
    }

    /// Returns when a byte of a writer with more than one is in the pipe of one byte.
    private func waitUntilFull(reader pipe: BlobPipe) async throws {
        try await onThread {
            while try Data("x".utf8).withUnsafeBytes({ try pipe.tryWrite($0) }) != 0 {}
        }
    }

    // MARK: Opening

    @Test func theBytesPassByOnce() throws {
        let pipe = BlobPipe()
        let reader = try pipe.source.open()
        #expect(codeThrown { try pipe.source.open() } == .unsupported)
        #expect(!pipe.source.traits.contains(.repeatable))
        reader.close()
        #expect(codeThrown { try pipe.source.open() } == .unsupported)
    }

    @Test func aRefusedOpeningTakesNothing() async throws {
        let pipe = BlobPipe(info: BlobInfo(byteCount: 5, validator: .strong("a")))
        #expect(codeThrown { try pipe.source.open(at: 6) } == .invalidArgument)
        #expect(codeThrown { try pipe.source.open(matching: .strong("b")) } == .changed)
        try self.write(pipe, hello)
        pipe.finish()
        #expect(try await self.readAll(pipe.source) == hello)
    }

    @Test(arguments: [0, 1, 4, 5]) func anOffsetDropsTheBytesBefore(offset: Int) async throws {
        let pipe = BlobPipe(capacity: 2)
        async let writing: Void = onThread { [hello] in
            try self.write(pipe, hello)
            pipe.finish()
        }
        #expect(try await self.readAll(pipe.source, at: Int64(offset)) == hello.dropFirst(offset))
        try await writing
    }

    @Test func anOffsetPastTheEndIsInvalid() async throws {
        let pipe = BlobPipe()
        try self.write(pipe, hello)
        pipe.finish()
        #expect(await asyncCodeThrown { try await self.readAll(pipe.source, at: 6) } == .invalidArgument)
    }

    @Test(arguments: [4, 6]) func aByteCountThatIsNotKeptIsMisbehaviour(promised: Int64) async throws {
        let pipe = BlobPipe(info: BlobInfo(byteCount: promised))
        try self.write(pipe, hello)
        pipe.finish()
        #expect(await asyncCodeThrown { try await self.readAll(pipe.source) } == .misbehavingPlugin)
    }

    // MARK: Events

    @Test func theWakerTellsWhenAReadIsWorthIt() throws {
        let pipe = BlobPipe()
        let reader = try pipe.source.open()
        let wakes = Recorder<Int>()
        func wait(_ number: Int) { reader.whenReadable(BlobWaker { wakes.append(number) }) }
        #expect(try self.read(reader, waits: false).isEmpty, "Nothing for now.")
        wait(1)
        wait(2)
        try self.write(pipe, hello)
        #expect(wakes.values == [2], "The last one registered.")
        #expect(try self.read(reader, 3) == Data("hel".utf8))
        wait(3)
        #expect(wakes.values == [2, 3], "At once, as bytes wait.")
        #expect(try self.read(reader, 3) == Data("lo".utf8))
        #expect(try self.read(reader, waits: false).isEmpty)
        #expect(!reader.hasEnded)
        wait(4)
        pipe.finish()
        #expect(wakes.values == [2, 3, 4])
        #expect(try self.read(reader).isEmpty)
        #expect(reader.hasEnded)
    }

    @Test func theErrorComesOnceTheBytesAreRead() throws {
        let pipe = BlobPipe()
        let reader = try pipe.source.open()
        try self.write(pipe, hello)
        pipe.finish(throwing: BlobError(.refused, "No."))
        #expect(try self.read(reader) == hello)
        #expect(codeThrown { try self.read(reader) } == .refused)
    }

    @Test func cancellingEndsABlockedReadWithinASecond() async throws {
        let pipe = BlobPipe()
        let context = BlobContext()
        let reader = UnsafeTransfer(try pipe.source.open(context: context))  // To the one thread that reads.
        let begins = Latch()
        async let code = onThread { () -> BlobError.Code? in
            begins.open()
            return codeThrown { try self.read(reader.value) }
        }
        await begins.opened()
        let watch = CancellationWatch()
        context.cancellation.cancel()
        #expect(try await code == .cancelled)
        #expect(await watch.isInTime)
    }

    @Test(arguments: [
        BlobContext(deadline: .now.advanced(by: .milliseconds(20))), BlobContext(idleLimit: .milliseconds(20)),
    ])
    func theDeadlineAndTheIdleLimitEndABlockedRead(context: BlobContext) async throws {
        let pipe = BlobPipe()
        let code = try await onThread {
            codeThrown { try self.read(try pipe.source.open(context: context)) }
        }
        #expect(code == .timedOut)
        pipe.finish()
    }
}
