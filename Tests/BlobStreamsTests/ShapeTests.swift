import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

/// The shapes that a plugin hands out, checked by the kit over bases of several kinds.
@Suite(.timeLimit(.minutes(5))) struct ShapeTests {
    private let bytes = Data(testBytes(10_000))

    private func bases() -> [any BlobInputStreamDataSource] {
        let bytes = self.bytes
        let blocking = ClosureSource(info: BlobInfo(validator: .strong("closure"))) { offset, output, _ in
            _ = bytes.dropFirst(Int(offset)).prefix(777).withUnsafeBytes { output.append(contentsOf: $0) }
        }
        return [
            MemorySource(bytes), DripSource(MemorySource(bytes), pieceByteCount: 100), blocking,
            blocking.readingAhead(windowByteCounts: 10...1000), FaultSource(MemorySource(bytes), .oneByte),
        ]
    }

    @Test func aTransformKeepsEveryContract() async throws {
        let digits = Data(self.bytes.flatMap { Array(String(format: "%02x", $0).utf8) })
        for base in self.bases() {
            let found = try await onThread { violations(of: HexSource(base: base), expecting: digits) }
            #expect(found.isEmpty, "\(type(of: base)): \(found)")
        }
    }

    @Test(arguments: [1, 2, 4095, 4096, 70_000]) func aTransformFillsAnyOutput(byteCount: Int) async throws {
        let digits = Data(self.bytes.flatMap { Array(String(format: "%02x", $0).utf8) })
        let read = try await onThread {
            try readAll(HexSource(base: MemorySource(self.bytes)).open(at: 1), inPiecesOf: byteCount)
        }
        #expect(Data(read) == digits.dropFirst())
    }

    @Test func bytesBeforeTheErrorOfATransformAreDelivered() async throws {
        let source = HexSource(base: MemorySource(Data(repeating: 1, count: 100)), fails: true)
        let outcome = try await readingOutcome(source)
        #expect(outcome.bytes.count == 200 && outcome.error?.code == .corrupted)
        #expect(outcome.error?.layers == ["HexSource"])
    }

    /// An error that counts the bytes of the base names it.
    @Test func anErrorInTheBytesOfTheBaseHasItsLocator() async throws {
        let base = LocatedSource(base: MemorySource(self.bytes), locator: try BlobLocator("file:///x.hex"))
        let outcome = try await readingOutcome(HexSource(base: base, fails: true, faultOffset: 7))
        #expect(outcome.error?.locator == "file:///x.hex" && outcome.error?.byteOffset == 7)
        #expect(try await readingOutcome(HexSource(base: base, fails: true)).error?.locator == nil)
    }

    /// Bytes that a transform holds come without more input.
    @Test func whatATransformHoldsIsNotAwaited() throws {
        let pipe = BlobPipe()
        let reader = try HoldingSource(base: pipe.source).open()
        try pipe.write(Data([1, 2, 3]))
        var read: [UInt8] = []
        for _ in 0..<6 { read += try readNow(reader, upTo: 1).bytes }
        #expect(read == [1, 1, 2, 2, 3, 3])
        #expect(try readNow(reader, upTo: 1).bytes.isEmpty && !reader.hasEnded)
        pipe.finish()
        #expect(try readNow(reader, upTo: 1).bytes.isEmpty && reader.hasEnded)
    }

    @Test(arguments: [Fault.endsEarly, .isFullOfNothing, .wantsMoreAtTheEnd])
    func aTransformThatBreaksItsContractIsNamed(_ fault: Fault) async throws {
        let outcome = try await readingOutcome(FaultyTransformSource(base: MemorySource(self.bytes), fault: fault))
        #expect(outcome.error?.code == .misbehavingPlugin)
    }

    /// What one reader's user does with a chunk is never seen by another reader.
    @Test func aChunkThatIsChangedChangesNoOther() async throws {
        for source in [self.bases()[0], self.bases()[1], self.bases()[2]] {
            for try await var chunk in source.chunks(ofAtMost: 1000) {
                chunk.withUnsafeMutableBytes { bytes in
                    for index in bytes.indices { bytes[index] = ~bytes[index] }
                }
            }
            #expect(try await source.data(upTo: 1 << 20) == self.bytes)
        }
    }

    /// The facts of a base whose first opening fails are awaited, and not only its bytes.
    @Test func aSliceOfWhatIsTriedAgainIsRead() async throws {
        let source = FailingOnceSource(base: MemorySource(self.bytes)).layered { $0.retry = .impatient }
        #expect(try await source.slice(3...).data(upTo: 1 << 20) == self.bytes.dropFirst(3))
    }

    // MARK: The slot

    @Test func aSlotCallsTheNewestWakerOnce() {
        let slot = BlobWakerSlot()
        let calls = Recorder<Int>()
        slot.store(BlobWaker { calls.append(1) })
        slot.store(BlobWaker { calls.append(2) })
        slot.fire()
        slot.fire()
        #expect(calls.values == [2])
    }

    @Test func aSlotRemembersACallThatFoundNoWaker() {
        let slot = BlobWakerSlot()
        let calls = Recorder<Int>()
        slot.fire()
        slot.store(BlobWaker { calls.append(1) })
        #expect(calls.values == [1])
    }

    @Test func aSlotLetsAWakerGoThatItCalled() {
        let slot = BlobWakerSlot()
        weak var released: BlobWaker?
        do {
            let waker = BlobWaker {}
            released = waker
            slot.store(waker)
            slot.fire()
        }
        #expect(released == nil)
    }
}

/// The bytes of a base as hexadecimal digits.
private struct HexSource: BlobInputStreamDataSource {
    let base: any BlobInputStreamDataSource
    var fails = false
    /// The byte offset of the error.
    var faultOffset: Int64?

    var traits: BlobTraits { self.base.traits }
    func describe(_ context: BlobContext) throws -> BlobInfo { Self.encoded(try self.base.info(context)) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let base = try self.base.open(at: opening.byteOffset / 2, context: opening.context)
        let hex = Hex(fails: self.fails, faultOffset: self.faultOffset)
        return .transform(base, hex, startingAt: opening.byteOffset / 2 * 2)
    }

    static func encoded(_ base: BlobInfo) -> BlobInfo {
        BlobInfo(
            byteCount: base.byteCount.map { $0 * 2 }, validator: base.validator.map { .combined("hex", [$0]) },
            isRandomAccess: base.isRandomAccess)
    }

    private struct Hex: BlobTransform {
        let fails: Bool
        let faultOffset: Int64?

        func info(of base: BlobInfo) -> BlobInfo { HexSource.encoded(base) }

        func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep {
            let count = min(input.byteCount, output.freeCapacity / 2)
            for index in 0..<count {
                let byte = input.unsafeLoad(fromByteOffset: index, as: UInt8.self)
                for digit in String(format: "%02x", byte).utf8 { output.append(digit) }
            }
            input = input.extracting(droppingFirst: count)
            if self.fails, input.byteCount == 0, count > 0 {
                throw BlobError(.corrupted, "Broken.", byteOffset: self.faultOffset)
            }
            guard input.byteCount == 0 else { return .full }
            return isLast ? .end : .needsInput
        }
    }
}

/// A source that has a locator.
private struct LocatedSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let locator: BlobLocator?
}

/// Each byte of a base twice, one in each step.
private struct HoldingSource: BlobInputStreamDataSource {
    let base: any BlobInputStreamDataSource

    var traits: BlobTraits { self.base.traits }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .transform(try self.base.open(context: opening.context), Holding(), startingAt: 0)
    }

    private struct Holding: BlobTransform {
        var held: [UInt8] = []

        func info(of base: BlobInfo) -> BlobInfo { BlobInfo() }

        mutating func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) -> BlobStep {
            for index in 0..<input.byteCount {
                self.held += Array(repeating: input.unsafeLoad(fromByteOffset: index, as: UInt8.self), count: 2)
            }
            input = RawSpan()
            guard !self.held.isEmpty else { return isLast ? .end : .needsInput }
            output.append(self.held.removeFirst())
            return .full
        }
    }
}

/// A source whose first opening fails.
private struct FailingOnceSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    private let hasFailed = Locked(false)

    init(base: any BlobInputStreamDataSource) { self.base = base }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        guard self.hasFailed.exchange(true) else {
            throw BlobError(.unavailable, "Not yet.", isTransient: true)
        }
        return try self.base.makeBody(opening)
    }
}

enum Fault: CaseIterable, Sendable {
    case endsEarly, isFullOfNothing, wantsMoreAtTheEnd
}

private struct FaultyTransformSource: BlobInputStreamDataSource {
    let base: any BlobInputStreamDataSource
    let fault: Fault

    var traits: BlobTraits { self.base.traits }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .transform(try self.base.open(opening), Faulty(fault: self.fault), startingAt: opening.byteOffset)
    }

    private struct Faulty: BlobTransform {
        let fault: Fault

        func info(of base: BlobInfo) -> BlobInfo { BlobInfo() }

        func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) -> BlobStep {
            switch self.fault {
            case .endsEarly: return .end
            case .isFullOfNothing: return .full
            case .wantsMoreAtTheEnd:
                input = input.extracting(droppingFirst: input.byteCount)
                return .needsInput
            }
        }
    }
}
