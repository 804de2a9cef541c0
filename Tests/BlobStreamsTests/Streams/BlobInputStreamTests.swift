import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct BlobInputStreamTests {
    static let modes = [BlobStreamMode.synchronous, .asynchronous]

    /// Makes a stream on a thread that may block, and uses it there.
    private func withStream(
        _ source: any BlobInputStreamDataSource, _ mode: BlobStreamMode, _ context: BlobContext = BlobContext(),
        _ body: @escaping @Sendable (BlobInputStream) throws -> Void
    ) async throws {
        try await onThread { try body(BlobInputStream(source, mode: mode, context: context)) }
    }

    // MARK: Reading

    @Test(arguments: modes, SourceKind.allCases)
    func allBytesComeInReadsOfAnySize(_ mode: BlobStreamMode, _ kind: SourceKind) async throws {
        for (byteCount, size) in [(0, 10), (1, 1), (1, 100), (1000, 7), (200_000, 4096), (200_000, 300_000)] {
            try await self.withStream(kind.source(byteCount), mode) { stream in
                stream.open()
                #expect(stream.readAll(by: size) == testBytes(byteCount))
                #expect(stream.streamStatus == .atEnd)
                #expect(stream.readBytes(10).count == 0)
                #expect(stream.streamError == nil)
                #expect(stream.state.value.byteCount == Int64(byteCount))
            }
        }
    }

    @Test(arguments: modes) func theLoopOfTheAncestorsReadMeGetsEverything(_ mode: BlobStreamMode) async throws {
        for byteCount in [0, 1, 5000] {
            try await self.withStream(MemorySource(count: byteCount), mode) { stream in
                var all: [UInt8] = []
                stream.open()
                while stream.hasBytesAvailable { all += stream.readBytes(1000).bytes }
                #expect(stream.streamStatus == (byteCount == 0 ? .open : .atEnd))
                #expect(all == testBytes(byteCount))
            }
        }
    }

    @Test(arguments: modes) func aReadOfNothingGivesNothingAndChangesNothing(_ mode: BlobStreamMode) async throws {
        try await self.withStream(MemorySource(count: 3), mode) { stream in
            stream.open()
            #expect(stream.readBytes(1).count == 1)
            #expect(stream.readBytes(0).count == 0)
            #expect(stream.readBytes(-5).count == 0)
            #expect(stream.streamStatus == .open)
            #expect(stream.readAll() == Array(testBytes(3).dropFirst()))
        }
    }

    @Test(arguments: modes) func aReadBeforeOpeningOrAfterClosingIsAnErrorWithAReason(_ mode: BlobStreamMode)
        async throws
    {
        try await self.withStream(MemorySource(count: 3), mode) { stream in
            #expect(stream.readBytes(1).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .closed)
            #expect(stream.streamStatus == .notOpen)
            #expect(!stream.hasBytesAvailable)
            stream.open()
            #expect(stream.readBytes(1).count == 1)
            stream.close()
            #expect(stream.readBytes(1).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .closed)
            #expect(!stream.hasBytesAvailable)
        }
    }

    @Test(arguments: modes) func anErrorIsNeverAnEnd(_ mode: BlobStreamMode) async throws {
        let failing = FailingSource(after: 5, BlobError(.corrupted, "Broken."))
        try await self.withStream(failing, mode) { stream in
            stream.open()
            var counts: [Int] = []
            while counts.last ?? 1 > 0 { counts.append(stream.readBytes(2).count) }
            #expect(counts == [2, 2, 1, -1])
            #expect(stream.hasBytesAvailable, "False would be taken for the end.")
            #expect(stream.readBytes(2).count == -1)
            #expect(stream.streamStatus == .error)
            #expect((stream.streamError as? BlobError)?.code == .corrupted)
            #expect((stream.streamError as NSError?)?.code == BlobError.Code.corrupted.rawValue)
            #expect((stream.streamError as? BlobError)?.byteOffset == 5)
            #expect(stream.state.value.phase == .failed)
            #expect(stream.state.value.error?.code == .corrupted)
            #expect(!stream.state.value.hasBytesAvailable)
        }
    }

    @Test(arguments: modes) func fewerBytesThanDeclaredAreAnError(_ mode: BlobStreamMode) async throws {
        let source = ClosureSource(info: BlobInfo(byteCount: 10)) { offset, output, _ in
            if offset < 4 { output.append(repeating: 1, count: Int(4 - offset), as: UInt8.self) }
        }
        try await self.withStream(source, mode) { stream in
            stream.open()
            #expect(stream.readBytes(10).count == 4)
            #expect(stream.readBytes(10).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .misbehavingPlugin)
        }
    }

    @Test(arguments: modes) func aReadWaitsUntilBytesCome(_ mode: BlobStreamMode) async throws {
        let pipe = BlobPipe()
        try await self.withStream(pipe.source, mode) { stream in
            stream.open()
            #expect(!stream.state.value.hasBytesAvailable)
            #expect(stream.hasBytesAvailable)
            Thread { try? pipe.write(Data(testBytes(3))) }.start()
            #expect(stream.readBytes(10).bytes == testBytes(3))
            #expect(!stream.state.value.hasBytesAvailable)
            Thread { pipe.finish() }.start()
            #expect(stream.readBytes(10).count == 0)
            #expect(!stream.hasBytesAvailable)
        }
    }

    @Test func theStatusIsReadingWhileAReadRuns() async throws {
        let source = StuckSource()
        try await self.withStream(source, .synchronous) { stream in
            let shared = UnsafeTransfer(stream)  // Streams may be used on several threads.
            stream.open()
            let done = Latch()
            Thread {
                _ = shared.value.readBytes(1)
                done.open()
            }.start()
            source.reads.waitForValues(count: 1)
            #expect(stream.streamStatus == .reading)
            source.gate.open()
            done.wait()
            #expect(stream.streamStatus == .atEnd)
        }
    }

    @Test func theWindowIsLentAndStaysToBeRead() async throws {
        try await self.withStream(MemorySource(count: 100_000), .asynchronous) { stream in
            var (buffer, length) = (UnsafeMutablePointer<UInt8>?.none, 0)
            #expect(!stream.getBuffer(&buffer, length: &length))
            stream.open()
            #expect(stream.readBytes(10).count == 10)
            #expect(stream.getBuffer(&buffer, length: &length))
            #expect(length == BlobPipe.defaultCapacity - 10)
            #expect(Array(UnsafeBufferPointer(start: buffer, count: length)) == Array(testBytes(100_000)[10..<65536]))
            #expect(stream.readAll() == Array(testBytes(100_000).dropFirst(10)))
            #expect(!stream.getBuffer(&buffer, length: &length))
        }
    }

    @Test func smallSynchronousReadsComeFromAWindowAndLargeOnesFetchWhatIsAskedFor() async throws {
        let small = CountedSource(UnmarkedSource(count: 1_000_000))
        try await self.withStream(small, .synchronous) { stream in
            stream.open()
            for _ in 0..<500 { #expect(stream.readBytes(1024).count == 1024) }
            #expect(small.readCounts.values == Array(repeating: BlobPipe.defaultCapacity, count: 8))
        }
        let large = CountedSource(UnmarkedSource(count: 1_000_000))
        try await self.withStream(large, .synchronous) { stream in
            stream.open()
            for _ in 0..<20 { #expect(stream.readBytes(16 * 1024).count == 16 * 1024) }
            #expect(large.readCounts.values == Array(repeating: 16 * 1024, count: 20))
        }
    }

    /// Past the window the reader passes over the bytes; without random access nothing is opened again.
    @Test(arguments: modes) func aForwardSeekPassesOverBytes(_ mode: BlobStreamMode) async throws {
        let byteCount = 400_000
        let source = CountedSource(MemorySource(count: byteCount), hidesRandomAccess: true)
        try await self.withStream(source, mode) { stream in
            stream.open()
            for offset in stride(from: 1000, to: byteCount, by: 37_000) {
                #expect(stream.setOffset(Int64(offset)))
                #expect(stream.readBytes(10).bytes == Array(testBytes(byteCount)[offset..<(offset + 10)]))
            }
            #expect(source.openings.values == [0])
        }
    }

    // MARK: Opening and closing

    @Test(arguments: modes) func openingAgainAtTheEndStartsOver(_ mode: BlobStreamMode) async throws {
        try await self.withStream(MemorySource(count: 1000), mode) { stream in
            #expect(stream.setOffset(100))
            for _ in 0..<3 {
                stream.open()
                #expect(stream.readAll() == Array(testBytes(1000).dropFirst(100)))
                #expect(stream.streamStatus == .atEnd)
            }
        }
    }

    @Test(arguments: modes) func openingAgainWhatCanBeReadOnceIsAnError(_ mode: BlobStreamMode) async throws {
        try await self.withStream(SourceKind.eventDriven.source(10), mode) { stream in
            stream.open()
            #expect(stream.readAll()?.count == 10)
            stream.open()
            #expect(stream.hasBytesAvailable)
            #expect(stream.readBytes(1).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .unsupported)
        }
    }

    @Test(arguments: modes) func openingAgainInTheMiddleIsAnErrorAndAtTheStartIsNothing(_ mode: BlobStreamMode)
        async throws
    {
        try await self.withStream(MemorySource(count: 10), mode) { stream in
            stream.open()
            stream.open()
            #expect(stream.readBytes(4).count == 4)
            stream.open()
            #expect(stream.readBytes(4).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .unsupported)
            stream.open()
            #expect(stream.streamStatus == .error)
        }
    }

    @Test(arguments: modes) func closingIsFinalAtTheEndAfterAnErrorAndTwice(_ mode: BlobStreamMode) async throws {
        let sources: [any BlobInputStreamDataSource] = [
            MemorySource(count: 10), FailingSource(after: 3, BlobError(.io, "No.")),
            UnopenableSource(error: NSError(domain: "Bla", code: 1)),
        ]
        for source in sources {
            try await self.withStream(source, mode) { stream in
                stream.open()
                _ = stream.readAll()
                let error = stream.streamError as? BlobError
                stream.close()
                #expect(stream.streamStatus == .closed)
                #expect(stream.streamError as? BlobError == error)
                stream.close()
                stream.open()
                #expect(stream.streamStatus == .closed)
                #expect(stream.readBytes(1).count == -1)
                #expect(!stream.setOffset(0))
            }
        }
    }

    @Test func openingAsynchronouslyReturnsAtOnceAndCanBeClosed() async throws {
        let gate = Latch()
        let source = SlowToOpenSource(gate)
        try await self.withStream(source, .asynchronous) { stream in
            stream.open()
            #expect(stream.streamStatus == .opening)
            #expect(stream.hasBytesAvailable)
            stream.open()
            source.begun.waitForValues(count: 1)
            stream.close()
            #expect(stream.streamStatus == .closed)
            #expect(stream.readBytes(1).count == -1)
        }
        gate.open()
        await source.base.closings.values(count: 1)
    }

    @Test(arguments: modes) func closingEndsAReadThatWaits(_ mode: BlobStreamMode) async throws {
        let pipe = BlobPipe()
        try await self.withStream(pipe.source, mode) { stream in
            let shared = UnsafeTransfer(stream)  // Streams may be used on several threads.
            stream.open()
            let result = Recorder<Int>()
            Thread { result.append(shared.value.readBytes(1).count) }.start()
            Thread { shared.value.close() }.start()
            #expect(result.waitForValues(count: 1) == [-1])
        }
    }

    @Test(arguments: modes, ["end", "error", "close", "release"])
    func whatTheStreamHoldsIsFreed(_ mode: BlobStreamMode, _ reason: String) async throws {
        let base: any BlobInputStreamDataSource =
            reason == "error" ? FailingSource(after: 10, BlobError(.io, "No.")) : MemorySource(count: 200_000)
        let source = CountedSource(base)
        let kept = Locked<UnsafeTransfer<BlobInputStream>?>(nil)
        try await self.withStream(source, mode) { stream in
            kept.withLock { $0 = UnsafeTransfer(stream) }
            stream.open()
            #expect(stream.readBytes(10).count == 10)
            switch reason {
            case "close": stream.close()
            case "release": kept.withLock { $0 = nil }
            default: _ = stream.readAll()
            }
        }
        await source.closings.values(count: 1)
        #expect(source.openings.values.count == 1)
        kept.withLock { $0 = nil }
    }

    // MARK: The offset

    @Test(arguments: modes) func theOffsetIsReadAndSetBeforeOpening(_ mode: BlobStreamMode) async throws {
        try await self.withStream(MemorySource(count: 100), mode) { stream in
            #expect(stream.offset == 0)
            #expect(stream.setOffset(40))
            #expect(stream.offset == 40)
            stream.open()
            #expect(stream.readAll() == Array(testBytes(100).dropFirst(40)))
            #expect(stream.offset == 100)
        }
    }

    @Test(arguments: modes) func theOffsetIsSetWhileReadingAndAtTheEnd(_ mode: BlobStreamMode) async throws {
        try await self.withStream(MemorySource(count: 200_000), mode) { stream in
            stream.open()
            #expect(stream.readBytes(10).count == 10)
            #expect(stream.setOffset(150_000))
            #expect(stream.offset == 150_000)
            #expect(stream.readBytes(5).bytes == Array(testBytes(200_000)[150_000..<150_005]))
            #expect(stream.setOffset(3))
            #expect(stream.readAll() == Array(testBytes(200_000).dropFirst(3)))
            #expect(stream.streamStatus == .atEnd)
            #expect(stream.setOffset(199_999))
            #expect(stream.streamStatus != .atEnd)
            #expect(stream.hasBytesAvailable)
            #expect(stream.readAll() == [testBytes(200_000)[199_999]])
            #expect(stream.setOffset(0))
            #expect(stream.setOffset(200_000))
            #expect(stream.readBytes(1).count == 0)
            #expect(stream.streamStatus == .atEnd)
        }
    }

    @Test(arguments: modes) func aRefusedOffsetChangesNothing(_ mode: BlobStreamMode) async throws {
        let source = CountedSource(MemorySource(count: 100))
        try await self.withStream(source, mode) { stream in
            #expect(!stream.setOffset(-1))
            #expect(!stream.setProperty("7" as NSString, forKey: .fileCurrentOffsetKey))
            #expect(!stream.setProperty(NSNumber(value: 1.5), forKey: .fileCurrentOffsetKey))
            #expect(!stream.setProperty(NSNumber(value: UInt64.max), forKey: .fileCurrentOffsetKey))
            #expect(!stream.setProperty(nil, forKey: .fileCurrentOffsetKey))
            #expect(stream.offset == 0)
            stream.open()
            #expect(stream.readBytes(10).count == 10)
            #expect(!stream.setOffset(101))
            #expect(stream.offset == 10)
            #expect(stream.setOffset(10))
            #expect(stream.readAll() == Array(testBytes(100).dropFirst(10)))
            #expect(!stream.setOffset(101))
            #expect(stream.setOffset(100))
            #expect(stream.streamStatus == .atEnd)
        }
        #expect(source.openings.values == [0])
    }

    @Test(arguments: modes) func whatCanBeReadOnceRefusesOtherOffsets(_ mode: BlobStreamMode) async throws {
        try await self.withStream(SourceKind.eventDriven.source(10), mode) { stream in
            stream.open()
            #expect(stream.readBytes(3).count == 3)
            #expect(!stream.setOffset(0))
            #expect(!stream.setOffset(5))
            #expect(stream.readAll() == Array(testBytes(10).dropFirst(3)))
        }
    }

    @Test(arguments: modes) func anOffsetPastAnUnknownEndIsRefusedOrAnError(_ mode: BlobStreamMode) async throws {
        try await self.withStream(SourceKind.blockingOfUnknownLength.source(10), mode) { stream in
            stream.open()
            #expect(stream.readBytes(3).count == 3)
            #expect(stream.setOffset(11))
            #expect(stream.readBytes(1).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .invalidArgument)
        }
    }

    @Test(arguments: modes) func anOffsetPastTheEndBeforeOpeningIsAnError(_ mode: BlobStreamMode) async throws {
        try await self.withStream(MemorySource(count: 10), mode) { stream in
            #expect(stream.setOffset(11))
            stream.open()
            #expect(stream.readBytes(1).count == -1)
            #expect(stream.streamStatus == .error)
            #expect((stream.streamError as? BlobError)?.code == .invalidArgument)
        }
    }

    /// Told by the validator or, of a source without one, by the length alone.
    @Test(arguments: modes, [true, false])
    func otherContentAtAnOffsetIsNeverMixedIn(_ mode: BlobStreamMode, _ hasValidator: Bool) async throws {
        let first: any BlobInputStreamDataSource = hasValidator ? MemorySource(count: 100) : UnmarkedSource(count: 100)
        let other: any BlobInputStreamDataSource =
            hasValidator ? MemorySource(Data(count: 100)) : UnmarkedSource(count: 101)
        let current = Locked(first)
        try await self.withStream(SwitchingSource(current), mode) { stream in
            stream.open()
            #expect(stream.readBytes(10).count == 10)
            current.withLock { $0 = other }
            // In asynchronous mode it turns out later.
            #expect(stream.setOffset(5) == (mode == .asynchronous))
            if mode == .synchronous {
                #expect(stream.readAll() == Array(testBytes(100).dropFirst(10)))
            } else {
                #expect(stream.readAll() == nil)
                #expect((stream.streamError as? BlobError)?.code == .changed)
            }
        }
    }

    @Test(arguments: modes) func anotherLengthAfterTheEndIsChanged(_ mode: BlobStreamMode) async throws {
        let current = Locked<any BlobInputStreamDataSource>(UnmarkedSource(count: 100))
        let source = SwitchingSource(current)
        try await self.withStream(source, mode) { stream in
            for _ in 0..<2 {
                stream.open()
                #expect(stream.readAll() == testBytes(100))
            }
            current.withLock { $0 = UnmarkedSource(count: 99) }
            stream.open()
            #expect(stream.readAll() == nil)
            #expect((stream.streamError as? BlobError)?.code == .changed)
        }
    }

    @Test(arguments: modes) func otherPropertiesAreTheSources(_ mode: BlobStreamMode) async throws {
        let pipe = BlobPipe()
        let source = CountedSource(pipe.source).layered {
            $0.idleLimit = .seconds(1000)
            $0.onBytes = { _, _, _ in }
        }
        try await self.withStream(source, mode) { stream in
            #expect(stream.property(forKey: .color) == nil)
            #expect(stream.setProperty("red" as NSString, forKey: .color))
            stream.open()
            try pipe.write(Data([1, 2]))
            #expect(stream.readBytes(1).count == 1)
            #expect(stream.property(forKey: .color) as? String == "red")
            #expect(stream.setProperty("green" as NSString, forKey: .color))
            #expect(!stream.setProperty("x" as NSString, forKey: .dataWrittenToMemoryStreamKey))
            #expect(stream.readBytes(1).count == 1)
            #expect(stream.property(forKey: .color) as? String == "green")
        }
    }

    // MARK: Copies

    @Test(arguments: modes) func aCopyIsUnopenedAndBeginsWhereItsOriginalBegan(_ mode: BlobStreamMode) async throws {
        try await self.withStream(MemorySource(count: 100), mode) { stream in
            #expect(stream.unopenedCopy().offset == 0)
            #expect(stream.setOffset(20))
            #expect(stream.unopenedCopy().offset == 20)
            stream.open()
            #expect(stream.readBytes(30).count == 30)
            let copy = stream.unopenedCopy()
            #expect(copy.streamStatus == .notOpen)
            #expect(stream.readAll()?.count == 50)
            stream.close()
            copy.open()
            #expect(copy.readAll() == Array(testBytes(100).dropFirst(20)))
        }
    }

    // MARK: The end

    /// Foundation's own streams show the same.
    @Test(arguments: modes, SourceKind.allCases)
    func anEmptyStreamIsOpenUntilAReadOrItsEvent(_ mode: BlobStreamMode, _ kind: SourceKind) async throws {
        try await onThread {
            for isRead in [true, false] {
                let streams = [BlobInputStream(kind.source(0), mode: mode), InputStream(data: Data())]
                let delegate = RecordingDelegate()
                streams[0].delegate = delegate
                for stream in streams {
                    stream.open()
                    if let stream = stream as? BlobInputStream {
                        try stream.state.wait(BlobContext()) { $0.isOpenCompleted ? () : nil }
                    }
                    #expect(stream.streamStatus == .open)
                    guard isRead else { continue }
                    #expect(stream.readBytes(10).count == 0)
                    #expect(stream.streamStatus == .atEnd)
                }
                streams[0].schedule(in: .current, forMode: .default)
                RunLoop.current.run { delegate.events.contains(.endEncountered) || delegate.events.count > 1 }
                // Without a length, only a read meets the end of a source that blocks.
                if delegate.events.last == .hasBytesAvailable {
                    #expect(kind == .blockingOfUnknownLength && mode == .synchronous && !isRead)
                } else {
                    #expect(delegate.events == [.openCompleted, .endEncountered])
                    #expect(streams[0].streamStatus == .atEnd)
                }
                streams[0].close()
            }
        }
    }

    @Test(arguments: modes) func aCancellationAfterTheEndChangesNothing(_ mode: BlobStreamMode) async throws {
        for usesControl in [true, false] {
            let context = BlobContext()
            try await self.withStream(MemorySource(count: 3), mode, context) { stream in
                let delegate = RecordingDelegate()
                stream.delegate = delegate
                stream.open()
                #expect(stream.readAll() == testBytes(3))
                if usesControl { stream.control.cancel() } else { context.cancellation.cancel() }
                for _ in 0..<2 { #expect(stream.readBytes(1).count == 0) }
                #expect(stream.streamStatus == .atEnd && stream.streamError == nil && !stream.hasBytesAvailable)
                #expect(stream.state.value.phase == .atEnd && stream.state.value.error == nil)
                stream.schedule(in: .current, forMode: .default)
                RunLoop.current.drain()
                #expect(delegate.events == [.openCompleted, .endEncountered])
                // The job is over all the same.
                #expect(!stream.setOffset(1))
                #expect(stream.streamStatus == .atEnd && stream.offset == 3)
                stream.open()
                #expect((stream.streamError as? BlobError)?.code == .cancelled)
                #expect(stream.readBytes(1).count == -1)
            }
        }
    }

    // MARK: Limits

    /// Its readers wait to be open, as those of a server do.
    private struct UnopenedSource: BlobInputStreamDataSource {
        let traits: BlobTraits = [.repeatable, .neverBlocks]

        func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }

        func makeBody(_ opening: BlobOpening) -> BlobBody {
            BlobObservable(BlobReaderState()).makeBody(info: BlobInfo(), read: { _ in })
        }
    }

    @Test(arguments: modes) func aTimeOutBeforeTheSourceIsOpenIsOneOfOpening(_ mode: BlobStreamMode) async throws {
        try await self.withStream(UnopenedSource(), mode, BlobContext(idleLimit: .milliseconds(20))) { stream in
            stream.open()
            #expect(stream.readBytes(1).count == -1)
            let error = stream.streamError as? BlobError
            #expect(error?.code == .timedOut)
            #expect(error?.operation == "open")
        }
    }

    @Test(arguments: modes) func cancellingEndsAReadThatWaits(_ mode: BlobStreamMode) async throws {
        let context = BlobContext()
        let source = StuckSource()
        defer { source.gate.open() }
        let pipe = BlobPipe()
        try await self.withStream(pipe.source, mode, context) { stream in
            stream.open()
            Thread { context.cancellation.cancel() }.start()
            #expect(stream.readBytes(1).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .cancelled)
        }
    }

    @Test(arguments: modes) func theIdleLimitEndsAReadThatWaits(_ mode: BlobStreamMode) async throws {
        try await self.withStream(BlobPipe().source, mode, BlobContext(idleLimit: .milliseconds(20))) { stream in
            stream.open()
            #expect(stream.readBytes(1).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .truncated)
        }
        let pipe = BlobPipe()
        try await self.withStream(pipe.source, mode, BlobContext(idleLimit: .milliseconds(20))) { stream in
            stream.open()
            #expect(stream.readBytes(1).count == -1)
            #expect((stream.streamError as? BlobError)?.code == .timedOut)
        }
        withExtendedLifetime(pipe) {}
    }

    @Test func aStreamThatNobodyReadsFailsWhenItIsCancelledOrItsTimeIsUp() async throws {
        let limits: [(() -> BlobContext, BlobError.Code)] = [
            ({ BlobContext() }, .cancelled), ({ BlobContext(deadline: .now + .seconds(2)) }, .timedOut),
            ({ BlobContext(idleLimit: .seconds(1)) }, .timedOut),
        ]
        for (mode, (makeContext, code)) in Self.modes.flatMap({ mode in limits.map { (mode, $0) } }) {
            let context = makeContext()
            let pipe = BlobPipe()
            try await self.withStream(pipe.source, mode, context) { stream in
                let delegate = RecordingDelegate()
                stream.delegate = delegate
                stream.schedule(in: .current, forMode: .default)
                stream.open()
                RunLoop.current.run { !delegate.events.isEmpty }
                if code == .cancelled { Thread { context.cancellation.cancel() }.start() }
                RunLoop.current.run { delegate.events.count == 2 }
                #expect(delegate.events == [.openCompleted, .errorOccurred])
                #expect((stream.streamError as? BlobError)?.code == code)
                stream.close()
            }
            withExtendedLifetime(pipe) {}
        }
    }

    @Test func recoveriesAreCounted() async throws {
        let events = Recorder<BlobEvent>()
        let context = BlobContext(eventSink: { events.append($0) })
        let source = ClosureSource(info: BlobInfo(byteCount: 5)) { offset, output, context in
            context.eventSink?(BlobEvent(.recovered, offset))
            output.append(7)
        }
        try await self.withStream(source, .synchronous, context) { stream in
            stream.open()
            #expect(stream.readAll()?.count == 5)
            #expect(stream.state.value.recoveryCount == 5)
        }
        #expect(events.values.count == 5)
    }
}

/// Bytes up to an offset, then an error.
struct FailingSource: BlobInputStreamDataSource {
    private let base: ClosureSource

    init(after byteCount: Int, _ error: BlobError) {
        let bytes = Data(testBytes(byteCount))
        self.base = ClosureSource { offset, output, _ in
            if output.append(contentsOf: bytes.dropFirst(Int(offset))) == 0 { throw error }
        }
    }

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.describe(context) }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.base.makeBody(opening) }
}

/// A source whose opening blocks, and does not listen to the context, until the test lets it go.
struct SlowToOpenSource: BlobInputStreamDataSource {
    let base = CountedSource(MemorySource(count: 10))
    let begun = Recorder<Bool>()
    private let gate: Latch

    init(_ gate: Latch) { self.gate = gate }

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.describe(context) }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        self.begun.append(true)
        self.gate.wait()
        // Also when the job was cancelled meanwhile, which this source does not notice.
        return try self.base.makeBody(
            BlobOpening(at: opening.byteOffset, matching: opening.validator, context: BlobContext()))
    }
}

/// A source that knows its length and has no validator.
private struct UnmarkedSource: BlobInputStreamDataSource {
    private let base: ClosureSource

    init(count: Int) {
        let bytes = Data(testBytes(count))
        self.base = ClosureSource(info: BlobInfo(byteCount: Int64(count))) { offset, output, _ in
            output.append(contentsOf: bytes.dropFirst(Int(offset)))
        }
    }

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.describe(context) }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.base.makeBody(opening) }
}

/// A source whose content the test replaces.
private struct SwitchingSource: BlobInputStreamDataSource {
    private let current: Locked<any BlobInputStreamDataSource>

    init(_ current: Locked<any BlobInputStreamDataSource>) { self.current = current }

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.current.withLock { $0 }.info(context) }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try self.current.withLock { $0 }.makeBody(opening)
    }
}

extension OutputRawSpan {
    @discardableResult
    mutating func append(contentsOf bytes: Data) -> Int { bytes.withUnsafeBytes { self.append(contentsOf: $0) } }
}
