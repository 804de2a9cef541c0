import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

/// What goes through a pair, and how it ends.
@Suite(.timeLimit(.minutes(10))) struct BoundStreamPairTests {
    private let hello = Array("hello".utf8)

    // MARK: Bytes and the end

    @Test(arguments: [1, 2, 3, 7, 64, 65536]) func whatIsWrittenIsReadAndThenTheEnd(capacity: Int) async throws {
        let ends = Ends(capacity: capacity)
        let bytes = testBytes(5000)
        try await onThreads(2) { number in
            if number == 0 {
                #expect(ends.output.writeAll(bytes))
                ends.output.close()
            } else {
                #expect(ends.input.readAll(by: 77) == bytes)
                #expect(ends.input.streamStatus == .atEnd)
                #expect(ends.input.readBytes(1).count == 0)
                #expect(ends.input.streamError == nil)
            }
        }
        #expect(ends.output.streamError == nil)
    }

    @Test func closingAtOnceIsAnEmptyStream() async throws {
        let ends = Ends()
        ends.output.close()
        #expect(try await onThread { ends.input.readAll() } == [])
    }

    @Test func aWriteTakesWhatFits() {
        let ends = Ends(capacity: 8)
        #expect(ends.output.hasSpaceAvailable)
        #expect(ends.output.writeBytes(hello) == 5)
        #expect(ends.output.writeBytes(hello) == 3)
        #expect(!ends.output.hasSpaceAvailable)
        #expect(ends.input.readBytes(4).bytes == Array("hell".utf8))
        #expect(ends.output.hasSpaceAvailable)
        #expect(ends.output.writeBytes(Array("abcdef".utf8)) == 4)
        #expect(ends.input.readBytes(99).bytes == Array("ohelabcd".utf8))
        #expect(ends.output.property(forKey: .fileCurrentOffsetKey) as? Int == 12)
        #expect(!ends.output.setProperty(NSNumber(value: 0), forKey: .fileCurrentOffsetKey))
        #expect(ends.output.property(forKey: .dataWrittenToMemoryStreamKey) == nil)
    }

    @Test func aWriteOfNothingIsZeroAlsoWhenThePairIsFull() {
        let ends = Ends(capacity: 5)
        #expect(ends.output.writeBytes([]) == 0)
        #expect(ends.output.writeBytes(hello) == 5)
        #expect(ends.output.writeBytes([]) == 0)
        #expect(ends.input.readBytes(0).count == 0)
    }

    @Test func aFullPairBlocksItsWriterUntilBytesAreRead() async throws {
        let ends = Ends(capacity: 4)
        let isDone = Latch()
        async let writing = onThread { [hello] in
            defer { isDone.open() }
            return ends.output.writeAll(hello)
        }
        try await onThread {
            while ends.output.hasSpaceAvailable { sched_yield() }
        }
        // Five bytes do not go into four, whatever the threads do.
        #expect(!isDone.isOpen)
        #expect(ends.input.readBytes(4).bytes == Array("hell".utf8))
        #expect(try await writing)
        #expect(ends.input.readBytes(4).bytes == Array("o".utf8))
    }

    @Test func memoryIsThereOnlyWhileBytesWait() {
        let ends = Ends(capacity: 1000)
        #expect(ends.heldByteCount == 0)
        #expect(ends.output.writeBytes(hello) == 5)
        #expect(ends.heldByteCount == 1000)
        #expect(ends.output.writeBytes(testBytes(5000)) == 995)
        #expect(ends.heldByteCount == 1000)
        #expect(ends.input.readBytes(1000).count == 1000)
        #expect(ends.heldByteCount == 0)
        #expect(ends.output.writeBytes(hello) == 5)
        ends.input.close()
        #expect(ends.heldByteCount == 0)
    }

    /// As `URLSession` on Linux reads a body: no call but these.
    @Test func aBodyThatIsPolledComesWhole() async throws {
        let ends = Ends(capacity: 100, opened: false)
        let bytes = testBytes(10_000)
        async let writing = onThread {
            ends.output.open()
            defer { ends.output.close() }
            return ends.output.writeAll(bytes)
        }
        let body = try await onThread {
            var body: [UInt8] = []
            ends.input.open()
            while ends.input.hasBytesAvailable {
                let (count, bytes) = ends.input.readBytes(65524)
                guard count > 0 else { break }
                body += bytes
            }
            return body
        }
        #expect(try await writing)
        #expect(body == bytes)
    }

    // MARK: Errors from the output to the input

    @Test(arguments: [true, false]) func theErrorOfTheProducerComesAfterItsBytes(isOpen: Bool) async throws {
        let ends = Ends(opened: false)
        ends.input.open()
        if isOpen {
            ends.output.open()
            #expect(ends.output.writeBytes(hello) == 5)
        }
        ends.pair.finish(throwing: BlobError(.refused, "No."))
        ends.pair.finish(throwing: BlobError(.io, "A second error."))
        ends.output.close()
        ends.output.open()
        #expect(ends.output.streamStatus == .closed)
        #expect(ends.output.streamError == nil, "It is not an error of the output.")
        if isOpen { #expect(ends.input.readBytes(99).bytes == hello) }
        #expect(ends.input.readBytes(99).count == -1)
        #expect(ends.input.readBytes(99).count == -1)
        #expect(ends.input.errorCode == .refused)
        #expect((ends.input.streamError as? BlobError)?.layers == ["BlobInputStream", "BoundStreamPair"])
    }

    @Test func anErrorWakesABlockedRead() async throws {
        let ends = Ends()
        async let count = onThread { ends.input.readBytes(1).count }
        ends.pair.finish(throwing: CocoaError(.fileReadNoSuchFile))
        #expect(try await count == -1)
        #expect(ends.input.errorCode == .notFound)
    }

    @Test func anErrorAfterClosingDoesNotReachTheInput() {
        let ends = Ends()
        #expect(ends.output.writeBytes(hello) == 5)
        ends.output.close()
        ends.pair.finish(throwing: BlobError(.refused, "No."))
        #expect(ends.output.streamStatus == .closed)
        #expect(ends.output.streamError == nil)
        #expect(ends.input.readAll() == hello)
        #expect(ends.input.streamStatus == .atEnd)
    }

    @Test(arguments: [true, false]) func anOutputThatIsReleasedWithoutClosingIsNoEnd(isOpen: Bool) async throws {
        var pair: BoundStreamPair? = BoundStreamPair()
        let input = try #require(pair?.input)
        input.open()
        if isOpen {
            pair?.output.open()
            #expect(pair?.output.writeBytes(hello) == 5)
        }
        pair = nil
        if isOpen { #expect(input.readBytes(99).bytes == hello) }
        #expect(input.readBytes(99).count == -1)
        #expect(input.errorCode == .truncated)
    }

    @Test func anOutputThatIsReleasedAfterClosingIsAnEnd() async throws {
        var pair: BoundStreamPair? = BoundStreamPair()
        let input = try #require(pair?.input)
        input.open()
        pair?.output.open()
        #expect(pair?.output.writeBytes(hello) == 5)
        pair?.output.close()
        pair = nil
        #expect(input.readAll() == hello)
    }

    // MARK: Errors from the input to the output

    @Test(.timeLimit(.minutes(5))) func anInputThatIsClosedEarlyFailsTheOutput() async throws {
        let ends = Ends()
        #expect(ends.output.writeBytes(hello) == 5)
        ends.input.close()
        // Another thread may be looking for bytes just now, and closes the reader after that.
        let state = try #require(ends.output as? BlobOutputStream).state
        try await onThread { try state.wait(BlobContext()) { $0.phase == .failed ? () : nil } }
        #expect(ends.output.streamStatus == .error)
        #expect(ends.output.errorCode == .closed)
        #expect(ends.output.hasSpaceAvailable, "A write would not wait.")
        #expect(ends.output.writeBytes(hello) == -1)
        #expect(ends.output.writeBytes([]) == -1)
        let error = ends.output.streamError.map { $0 as NSError }
        #expect(error?.domain == BlobError.errorDomain)
        #expect(error?.code == 22)
        #expect((ends.output.streamError as? BlobError)?.operation == "write")
        #expect((ends.output.streamError as? BlobError)?.byteOffset == 5)
        #expect((ends.output.streamError as? BlobError)?.layers == ["BlobOutputStream"])
        ends.output.close()
        #expect(ends.output.streamStatus == .closed)
        #expect(ends.output.errorCode == .closed)
    }

    @Test func theReasonWhyTheInputFailedIsTheCause() async throws {
        let ends = Ends(context: BlobContext(idleLimit: .milliseconds(20)))
        #expect(try await onThread { ends.input.readBytes(1).count } == -1)
        #expect(ends.input.errorCode == .timedOut)
        #expect(ends.output.errorCode == .closed)
        let cause = (ends.output.streamError as? BlobError)?.cause as? BlobError
        #expect(cause?.code == .timedOut)
    }

    enum Going: CaseIterable, Sendable {
        case inputCloses, inputIsReleased, inputIsReleasedUnopened, outputCloses, outputFinishes, cancellation
    }

    @Test(arguments: Going.allCases) func aWriteThatWaitsEndsWhenTheOtherSideGoes(_ going: Going) async throws {
        let context = BlobContext()
        let ends = Locked<Ends?>(Ends(capacity: 1, context: context, opened: false))
        // Any thread may use it.
        let output = try #require(ends.withLock { $0 }.map { UnsafeTransfer($0.pair.writer) })
        ends.withLock { $0 }?.output.open()
        if going != .inputIsReleasedUnopened { ends.withLock { $0 }?.input.open() }
        #expect(output.value.writeBytes([1]) == 1)
        async let count = onThread { output.value.writeBytes([2]) }
        try await onThread {
            while output.value.streamStatus != .writing { sched_yield() }
        }
        let watch = CancellationWatch()
        switch going {
        case .inputCloses: ends.withLock { $0 }?.input.close()
        case .inputIsReleased, .inputIsReleasedUnopened: ends.withLock { $0 = nil }
        case .outputCloses: output.value.close()
        case .outputFinishes: output.value.finish(throwing: BlobError(.refused, "No."))
        case .cancellation: context.cancellation.cancel()
        }
        #expect(try await count == -1)
        #expect(await watch.isInTime)
        #expect(output.value.errorCode == (going == .cancellation ? .cancelled : .closed))
        guard let input = ends.withLock({ $0 })?.input else { return }
        switch going {
        case .outputCloses:
            #expect(input.readBytes(9).bytes == [1])
            #expect(input.readBytes(9).count == 0)
        case .outputFinishes:
            #expect(input.readBytes(9).bytes == [1])
            #expect(input.readBytes(9).count == -1)
            #expect(input.errorCode == .refused)
        default:
            #expect(input.readBytes(9).count == -1)
        }
    }

    @Test func aReadThatWaitsEndsWhenTheOutputCloses() async throws {
        let ends = Ends()
        async let count = onThread { ends.input.readBytes(1).count }
        ends.output.close()
        #expect(try await count == 0)
    }

    /// Then there is no reader whose closing would tell.
    @Test func anInputThatIsClosedWhileItOpensFailsTheOutput() {
        let ends = Ends(opened: false)
        ends.output.open()
        let observation = ends.input.state.observe(\.phase, options: [.new]) { [weak ends] change in
            if change.new == .opening { ends?.input.close() }
        }
        ends.input.open()
        #expect(ends.input.streamStatus == .closed)
        #expect(ends.output.errorCode == .closed)
        observation.cancel()
    }

    @Test func aCopyMayReadInsteadOfTheInput() {
        let ends = Ends(opened: false)
        ends.output.open()
        #expect(ends.output.writeBytes(hello) == 5)
        let copy = ends.input.unopenedCopy()
        copy.open()
        ends.input.open()
        #expect(ends.input.errorCode == .unsupported)
        ends.input.close()
        #expect(ends.output.streamStatus == .open)
        #expect(copy.readBytes(9).bytes == hello)
        copy.close()
        #expect(ends.output.errorCode == .closed)
    }

    // MARK: The context

    @Test(arguments: [
        BlobContext(deadline: .now.advanced(by: .milliseconds(30))), BlobContext(idleLimit: .milliseconds(30)),
    ])
    func theDeadlineAndTheIdleLimitEndAWriteThatWaits(context: BlobContext) async throws {
        let ends = Ends(capacity: 5, context: context)
        let isWritten = try await onThread { [hello] in ends.output.writeAll(hello + hello) }
        #expect(!isWritten)
        #expect(ends.output.errorCode == .timedOut)
        #expect(ends.output.streamStatus == .error)
        // With the deadline of both, the input may have failed of itself.
        while case let count = ends.input.readBytes(2).count, count != -1 { #expect(count > 0) }
        #expect(ends.input.errorCode == .timedOut)
    }

    @Test func anIdleLimitEndsAnInputThatWaitsForEvents() async throws {
        let loop = LoopThread()
        let ends = Ends(context: BlobContext(idleLimit: .milliseconds(500)))
        ends.input.schedule(in: loop.runLoop, forMode: .default)
        // The first wait ended in time, the second one does not.
        #expect(ends.output.writeBytes(hello) == 5)
        #expect(ends.input.readBytes(5).count == 5)
        let isFailed = Latch()
        let observation = ends.input.state.observe(\.phase, options: [.initial, .new]) { change in
            if change.new == .failed { isFailed.open() }
        }
        await isFailed.opened()
        observation.cancel()
        #expect(ends.input.errorCode == .timedOut)
        #expect(ends.output.errorCode == .closed)
        ends.input.close()
        try await onThread { loop.stop() }
    }

    @Test func aCancelledJobEndsBothStreamsThoughNobodyUsesThem() {
        let context = BlobContext()
        let ends = Ends(context: context)
        context.cancellation.cancel()
        #expect(ends.input.errorCode == .cancelled)
        #expect(ends.output.errorCode == .cancelled)
        #expect(ends.output.writeBytes(hello) == -1)
        let late = Ends(context: context)
        #expect(late.input.errorCode == .cancelled)
        #expect(late.output.errorCode == .cancelled)
    }

    @Test func theOutputAloneTellsTheInputOfACancellation() {
        let context = BlobContext()
        let ends = Ends(context: context, opened: false)
        ends.output.open()
        context.cancellation.cancel()
        #expect(ends.output.errorCode == .cancelled)
        ends.input.open()
        #expect(ends.input.errorCode == .cancelled)
    }

    // MARK: Steps

    @Test func writesBeforeOpeningAndAfterClosingAreRefused() {
        let ends = Ends(opened: false)
        #expect(ends.output.streamStatus == .notOpen)
        #expect(ends.output.streamError == nil)
        #expect(!ends.output.hasSpaceAvailable)
        #expect(ends.output.writeBytes(hello) == -1)
        #expect(ends.output.errorCode == .closed)
        ends.output.close()
        #expect(ends.output.streamStatus == .notOpen, "Closing before opening does nothing.")
        ends.output.open()
        ends.output.open()
        #expect(ends.output.streamStatus == .open)
        #expect(ends.output.writeBytes(hello) == 5)
        ends.output.close()
        ends.output.close()
        ends.output.open()
        #expect(ends.output.streamStatus == .closed)
        #expect(!ends.output.hasSpaceAvailable)
        #expect(ends.output.writeBytes(hello) == -1)
        #expect(ends.output.writeBytes([]) == -1)
        ends.input.open()
        #expect(ends.input.readAll() == hello)
    }

    @Test func theBytesPassByOnce() {
        let ends = Ends()
        #expect(ends.output.writeBytes(hello) == 5)
        ends.output.close()
        let copy = ends.input.unopenedCopy()
        ends.input.open()
        #expect(ends.input.streamStatus == .open, "Nothing was read yet.")
        #expect(ends.input.readAll() == hello)
        ends.input.open()
        #expect(ends.input.streamStatus == .error)
        #expect(ends.input.errorCode == .unsupported)
        #expect(ends.input.readBytes(1).count == -1)
        copy.open()
        #expect(copy.errorCode == .unsupported)
        #expect(copy.readBytes(1).count == -1)
    }

    @Test func anOutputStreamToMemoryIsReadByNobody() {
        let output = BlobOutputStream.toMemory()
        output.open()
        #expect(output.streamStatus == .error)
        #expect(output.writeBytes(hello) == -1)
        #expect(output.errorCode == .closed)
        #expect(output.delegate === output)
    }
}

extension Ends {
    /// How large the ring is that exists now, in bytes.
    fileprivate var heldByteCount: Int {
        (Mirror(reflecting: self.pair.writer.engine).descendant("buffer") as? PipeBuffer)?.heldByteCount ?? 0
    }
}
