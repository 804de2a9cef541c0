import BlobStreams
import Foundation
import Testing

@testable import BlobStreamsTesting

private let bytes = Data((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) })

/// One plugin a contract that breaks it: the kit names that contract.
@Suite struct KitTests {
    @Test(arguments: BrokenSource.Defect.allCases)
    func aBrokenContractIsNamed(_ defect: BrokenSource.Defect) async {
        let found = await violations(of: BrokenSource(defect: defect), expecting: bytes)
        #expect(found.contains { $0.contract == defect.rawValue }, "\(defect): \(found)")
    }

    @Test func aSoundSourceBreaksNothing() async {
        #expect(await violations(of: BrokenSource(defect: nil), expecting: bytes) == [])
    }

    @Test func aViolationIsDescribedByItsNumber() async throws {
        let found = await violations(of: BrokenSource(defect: .bytesAfterTheEnd), expecting: bytes)
        #expect(try #require(found.first).description.hasPrefix("C2: "))
    }

    @Test func aSourceThatCannotBeOpenedIsNoSilentSuccess() async {
        let found = await violations(
            of: FaultSource(try Missing.source(), .half), expecting: bytes)
        #expect(!found.isEmpty)
    }

    /// Readers that wait for a while are asked meanwhile.
    @Test func aReaderThatBlocksForAWhileOnlyIsNotConstant() async {
        let found = await violations(of: WaveringSource(base: MemorySource(bytes)), expecting: bytes)
        #expect(found.contains { $0.contract == 12 }, "\(found)")
    }

    @Test func aLargeSourceIsComparedAtItsEndsWithoutBeingHeld() throws {
        // 65 MiB that are never in memory at once: each byte is the number of its MiB.
        let byteCount = Int64(65) << 20
        let source = ClosureSource(info: BlobInfo(byteCount: byteCount)) { offset, output, _ in
            let inPiece = Int((1 << 20) - offset % (1 << 20))
            let count = min(output.freeCapacity, inPiece, Int(byteCount - offset))
            output.append(repeating: UInt8(truncatingIfNeeded: offset >> 20), count: count, as: UInt8.self)
        }
        #expect(try violations(of: source) == [])
        // The first opening tells what is right; the others differ in their last bytes.
        let openings = Locked(0)
        let found = try violations(
            of: openings.withLock {
                $0 += 1; return $0
            } == 1
                ? source : FaultSource(source, .change(at: byteCount - 10)))
        #expect(found.contains { $0.contract == 8 })
    }
}

/// A source of which a reader says after its first read alone that it may block.
private struct WaveringSource: ForwardingSource {
    let base: any BlobInputStreamDataSource

    func traits(over base: BlobTraits) -> BlobTraits { base.subtracting(.neverBlocks) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .stream(WaveringStream(try self.base.open(opening)), startingAt: opening.byteOffset)
    }
}

private final class WaveringStream: BlobByteStream {
    private let base: BlobReader
    private var readCount = 0

    init(_ base: BlobReader) { self.base = base }

    var info: BlobInfo? { self.base.info }
    var neverBlocks: Bool { self.readCount != 1 }
    var readiness: BlobWakerSlot? { self.base.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        self.readCount += 1
        return try self.base.read(into: &output, atMost: 100)
    }

    func close() { self.base.close() }
}

private enum Missing {
    static func source() throws -> any BlobInputStreamDataSource { throw BlobError(.notFound, "There is none.") }
}

/// A source with one defect, called by the number of the contract that it breaks.
struct BrokenSource: BlobInputStreamDataSource {
    enum Defect: Int, CaseIterable, Sendable {
        case saysBytesAndGivesNone = 1
        case bytesAfterTheEnd = 2
        case anotherErrorEachTime = 3
        case keepsTheBuffer = 4
        case takesAnyOffset = 5
        case ignoresOffsets = 6
        case ignoresValidators = 7
        case endsEarly = 8
        case readersShareAPosition = 10
        case cannotBeCancelled = 12
        case passesTheDeadline = 13
        case readsAfterClose = 14
    }

    let defect: Defect?
    private let shared = SharedPosition()

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(byteCount: Int64(bytes.count), validator: .strong("of these bytes"))
    }

    func makeReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext) throws
        -> any BlobPluginReader
    {
        let info = self.describe(context)
        do {
            try info.check(byteOffset: byteOffset, matching: validator)
        } catch {
            let isForgiven =
                error.code == .invalidArgument && self.defect == .takesAnyOffset
                || error.code == .changed && self.defect == .ignoresValidators
            guard isForgiven else { throw error }
        }
        let offset = self.defect == .ignoresOffsets ? 0 : min(max(0, byteOffset), Int64(bytes.count))
        if self.defect == .readersShareAPosition { self.shared.offset.withLock { $0 = Int(offset) } }
        return BrokenReader(self.defect, info, Int(offset), self.shared, context)
    }
}

final class SharedPosition: Sendable {
    let offset = Locked(0)
}

private final class BrokenReader: BlobPluginReader {
    let info: BlobInfo
    private let defect: BrokenSource.Defect?
    private let shared: SharedPosition
    private let context: BlobContext
    private var offset: Int
    private var kept: UnsafeMutableRawPointer?
    private var errorCount = 0
    private var isClosed = false

    init(
        _ defect: BrokenSource.Defect?, _ info: BlobInfo, _ offset: Int, _ shared: SharedPosition,
        _ context: BlobContext
    ) {
        (self.defect, self.info, self.offset, self.shared, self.context) = (defect, info, offset, shared, context)
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        if self.isClosed, self.defect != .readsAfterClose { throw BlobError(.closed, "Closed.") }
        if self.context.cancellation.isCancelled { try self.noteCancellation() }
        if self.defect == .passesTheDeadline, self.context.deadline != nil { _ = WaitSignal().wait(for: .seconds(4)) }
        if self.defect == .saysBytesAndGivesNone { return .bytes }
        if self.defect == .readersShareAPosition { self.offset = self.shared.offset.withLock { $0 } }
        if self.defect == .keepsTheBuffer {
            self.kept?.storeBytes(of: 1, as: UInt8.self)
            self.kept = output.withUnsafeMutableBytes { buffer, _ in buffer.baseAddress }
        }
        let end = self.defect == .endsEarly ? bytes.count - 1 : bytes.count
        if self.offset == bytes.count, self.defect == .bytesAfterTheEnd { output.append(0) }
        let count = bytes[self.offset..<max(end, self.offset)].withUnsafeBytes { output.append(contentsOf: $0) }
        self.offset += count
        if self.defect == .readersShareAPosition { self.shared.offset.withLock { $0 = self.offset } }
        return output.byteCount > start ? .bytes : .end
    }

    private func noteCancellation() throws {
        self.errorCount += 1
        switch self.defect {
        case .anotherErrorEachTime:
            throw BlobError(self.errorCount == 1 ? .cancelled : .io, "Number \(self.errorCount)")
        case .cannotBeCancelled: throw BlobError(.io, "This is no way to say it.")
        default: throw BlobError(.cancelled, "Cancelled.")
        }
    }

    func close() { self.isClosed = true }
}
