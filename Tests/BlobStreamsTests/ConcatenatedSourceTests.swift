import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct ConcatenatedSourceTests {
    /// The kinds of parts: with and without a length, blocking and event-driven.
    enum Kind: CaseIterable { case memory, unknown, pipe, sequence, stream }

    private func part(_ kind: Kind, _ bytes: [UInt8]) throws -> any BlobInputStreamDataSource {
        switch kind {
        case .memory: return MemorySource(bytes)
        case .unknown:
            return ClosureSource { offset, output, _ in
                for byte in bytes.dropFirst(Int(offset)).prefix(output.freeCapacity) { output.append(byte) }
            }
        case .pipe:
            let pipe = BlobPipe()
            _ = try bytes.withUnsafeBytes { try pipe.tryWrite($0) }
            pipe.finish()
            return pipe.source
        case .sequence:
            let data = Data(bytes)
            return AsyncSequenceSource(
                isRepeatable: true,
                chunks: {
                    AsyncStream { continuation in
                        continuation.yield(data)
                        continuation.finish()
                    }
                })
        case .stream: return InputStreamSource { InputStream(data: Data(bytes)) }
        }
    }

    private func readAll(_ source: any BlobInputStreamDataSource, at offset: Int = 0) async throws -> Data {
        var all = Data()
        for try await chunk in source.chunks(ofAtMost: 3, at: Int64(offset)) { all += chunk }
        return all
    }

    private func readBlocking(_ source: any BlobInputStreamDataSource, at offset: Int = 0) async throws -> Data {
        try await onThread {
            try Data(BlobTestSupport.readAll(source.open(at: Int64(offset)), inPiecesOf: 3))
        }
    }

    @Test(arguments: Kind.allCases, Kind.allCases) func partsFollowEachOther(first: Kind, second: Kind) async throws {
        func source() throws -> ConcatenatedSource {
            ConcatenatedSource([
                try self.part(first, [1, 2, 3, 4]), try self.part(second, []), try self.part(second, [5, 6]),
                try self.part(first, [7]),
            ])
        }
        for offset in [0, 1, 4, 5, 7] {
            #expect(try await self.readAll(source(), at: offset) == Data(1...7).dropFirst(offset))
            #expect(try await self.readBlocking(source(), at: offset) == Data(1...7).dropFirst(offset))
        }
        #expect(await asyncCodeThrown { try await self.readAll(source(), at: 8) } == .invalidArgument)
    }

    @Test func nothingIsAnEmptyBlob() async throws {
        let source = ConcatenatedSource([])
        #expect(try source.info().byteCount == 0)
        #expect(try await self.readAll(source).isEmpty)
        #expect(codeThrown { try source.open(at: 1) } == .invalidArgument)
    }

    @Test func theLengthIsKnownWhenAllAre() throws {
        #expect(try ConcatenatedSource([MemorySource([1]), MemorySource([2, 3])]).info().byteCount == 3)
        #expect(try ConcatenatedSource([MemorySource([1]), self.part(.unknown, [])]).info().byteCount == nil)
    }

    @Test func theValidatorIsThatOfTheseParts() throws {
        let (a, b) = (MemorySource([1]), MemorySource([2]))
        let validator = try #require(ConcatenatedSource([a, b]).info().validator)
        #expect(validator.isStrong)
        #expect(try ConcatenatedSource([a, b]).info().validator == validator)
        #expect(try ConcatenatedSource([b, a]).info().validator != validator)
        #expect(codeThrown { try ConcatenatedSource([b, a]).open(matching: validator) } == .changed)
        #expect(try ConcatenatedSource([a, self.part(.pipe, [])]).info().validator == nil)
    }

    @Test func itCanWhatAllPartsCan() throws {
        let memory = ConcatenatedSource([MemorySource([1]), MemorySource([2])])
        #expect(memory.traits == [.neverBlocks, .repeatable, .concurrentReaders])
        let withPipe = try ConcatenatedSource([MemorySource([1]), self.part(.pipe, [])])
        #expect(withPipe.traits == .neverBlocks)
        let withSequence = try ConcatenatedSource([MemorySource([1]), self.part(.sequence, [])])
        #expect(withSequence.traits == [.neverBlocks, .repeatable, .concurrentReaders])
        #expect(try withSequence.open().neverBlocks)
        #expect(try !ConcatenatedSource([MemorySource([1]), ClosureSource { _, _, _ in }]).open().neverBlocks)
    }

    /// The bytes can be read only once, and none was read; a part that drips throws with a read.
    @Test(arguments: [true, false]) func anOpeningThatFailsCanBeRepeated(isLate: Bool) throws {
        let openings = Recorder<Bool>()
        let once = SequentialSource { _ in
            openings.append(true)
            guard openings.values.count > 1 else { throw BlobError(systemError: EMFILE, doing: "Could not open it") }
            return try MemorySource([1, 2]).makeBody(BlobOpening(context: BlobContext()))
        }
        let parts: [any BlobInputStreamDataSource] = [isLate ? DripSource(once) : once, MemorySource([3])]
        let source = ConcatenatedSource(parts)
        let error = #expect(throws: BlobError.self) { try BlobTestSupport.readAll(source.open()) }
        #expect(error?.isTransient == true)
        #expect(try BlobTestSupport.readAll(source.open()) == [1, 2, 3])
        #expect(codeThrown { try source.open() } == .unsupported)
    }

    @Test(arguments: [true, false]) func aPartThatHasNothingYetIsWaitedFor(isMemory: Bool) async throws {
        let played = PlayedStream()
        func part(_ bytes: [UInt8]) -> any BlobInputStreamDataSource {
            isMemory ? MemorySource(bytes) : MemorySource(bytes).slice(0...)
        }
        let reader = try ConcatenatedSource([part([1, 2]), played, part([5])]).open(at: 1)
        let wakes = Recorder<Bool>()
        #expect(try readNow(reader).bytes == [2])
        #expect(try readNow(reader).result == .notYet)
        reader.whenReadable(BlobWaker { wakes.append(true) })
        #expect(wakes.values.isEmpty)
        played.push([3, 4])
        #expect(wakes.values == [true])
        #expect(try readNow(reader).bytes == [3, 4])
        #expect(try readNow(reader).result == .notYet)
        played.state.update { $0.isAtEnd = true }
        #expect(try readNow(reader).bytes == [5])
        #expect(try readNow(reader) == (.end, []))
        #expect(reader.hasEnded)
    }

    /// The part that ends was about to call the waker when a read in vain closed it.
    @Test func aReadInVainThatGoesToTheNextPartLosesNoWaker() throws {
        let played = PlayedStream()
        let reader = try ConcatenatedSource([EndingStream(), played]).open(at: 0)
        let wakes = Recorder<Bool>()
        #expect(try readNow(reader).result == .notYet)
        reader.whenReadable(BlobWaker { wakes.append(true) })
        #expect(try readNow(reader).result == .notYet)
        #expect(wakes.values.isEmpty)
        played.push([1])
        #expect(wakes.values == [true])
        #expect(try readNow(reader).bytes == [1])
    }

    /// A stream, and its source, that has nothing at the first read, ends at the second, and never fires its slot.
    private final class EndingStream: BlobByteStream, BlobInputStreamDataSource {
        private let hasBeenRead = Locked(false)
        private let slot = BlobWakerSlot()
        let traits: BlobTraits = .neverBlocks
        let info: BlobInfo? = BlobInfo()
        var neverBlocks: Bool { true }
        var readiness: BlobWakerSlot? { self.slot }
        func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }
        func makeBody(_ opening: BlobOpening) -> BlobBody { .stream(self, startingAt: 0) }
        func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult {
            self.hasBeenRead.exchange(true) ? .end : .notYet
        }
    }

    /// A source whose content may be changed by the test.
    private final class ChangingSource: BlobInputStreamDataSource {
        let current = Locked(MemorySource([3, 4]))
        var traits: BlobTraits { [.repeatable, .concurrentReaders] }
        func describe(_ context: BlobContext) throws -> BlobInfo {
            try self.current.withLock { try $0.describe(context) }
        }
        func makeBody(_ opening: BlobOpening) throws -> BlobBody {
            try self.current.withLock { try $0.makeBody(opening) }
        }
    }

    @Test(arguments: [Kind.memory, .pipe]) func aPartThatChangesIsChangedBeforeAnyOfItsBytes(first: Kind) async throws {
        let changing = ChangingSource()
        var all = Data()
        let source = ConcatenatedSource([try self.part(first, [1, 2]), changing])
        let reader = try source.open()
        let code = codeThrown {
            while case let bytes = try Data(readingAtMost: 9, from: reader), !bytes.isEmpty {
                all += bytes
                changing.current.withLock { $0 = MemorySource([5, 6]) }
            }
        }
        #expect(code == .changed)
        #expect(all == Data([1, 2]))
    }

    @Test(arguments: [Kind.memory, .pipe]) func theErrorOfAPartNamesItsLayers(first: Kind) async throws {
        let failing = ClosureSource { _, _, _ in throw BlobError(.refused, "No.") }
        let source = ConcatenatedSource([try self.part(first, [1, 2]), failing])
        let error = await #expect(throws: BlobError.self) { try await self.readAll(source) }
        #expect(error?.code == .refused)
        #expect(error?.layers.first == "ConcatenatedSource")
        #expect(error?.layers.last == "ClosureSource")
    }

    /// The end of a part may be published between any two looks at its state; the promise of a length holds anyway.
    @Test(arguments: 1...14) func aPartThatIsTooShortIsNoticedWheneverItEnds(look: Int) async throws {
        let short = PlayedStream(
            info: BlobInfo(byteCount: 10),
            onLook: { count, state in if count == look { state.update { $0.isAtEnd = true } } })
        let source = ConcatenatedSource([short, try self.part(.unknown, [1])])
        let task = Task { await asyncCodeThrown { try await self.readAll(source) } }
        let ending = Task {
            await short.reads.values(count: 1)
            short.state.update { $0.isAtEnd = true }
        }
        #expect(await task.value == .misbehavingPlugin)
        ending.cancel()
    }

    @Test func closingClosesThePartThatIsOpen() async throws {
        let (first, second) = (PlayedStream(), PlayedStream())
        first.push([1])
        let reader = try ConcatenatedSource([first, second]).open()
        #expect(try readNow(reader).bytes == [1])
        first.state.update { $0.isAtEnd = true }
        #expect(try readNow(reader).result == .notYet)
        #expect(first.closes.values.count >= 1)
        #expect(second.closes.values.isEmpty)
        reader.close()
        #expect(second.closes.values.count >= 1)
        #expect(codeThrown { try readNow(reader) } == .closed)
    }
}
