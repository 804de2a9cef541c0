import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import BlobStreamsTesting

private let bytes = Data((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) })

/// One plugin a duty that breaks it: the kit names its contract.
@Suite struct KitTests {
    @Test(arguments: BrokenSource.Defect.allCases)
    func aBrokenContractIsNamed(_ defect: BrokenSource.Defect) async throws {
        let kit = Kit({ BrokenSource(defect: defect) }, expecting: Expectation(bytes))
        let found = try await onThread {
            switch defect {
            // Each of their reads takes seconds.
            case .cannotBeCancelled: kit.checkCancellation()
            case .passesTheDeadline: kit.checkDeadline()
            default: _ = kit.run()
            }
            return kit.findings.all
        }
        #expect(found.contains { $0.contract == defect.rawValue }, "\(defect): \(found)")
    }

    @Test func aSoundSourceBreaksNothing() async {
        #expect(await violations(of: BrokenSource(defect: nil), expecting: bytes) == [])
    }

    @Test func aViolationIsDescribedByItsNumber() async throws {
        let found = await violations(of: BrokenSource(defect: .endsEarly), expecting: bytes)
        #expect(try #require(found.first).description.hasPrefix("C8: "))
    }

    @Test func aSourceThatCannotBeOpenedIsNoSilentSuccess() async {
        let found = await violations(
            of: FaultSource(try Missing.source(), .half), expecting: bytes)
        #expect(!found.isEmpty)
    }

    /// Readers that wait for a while are asked meanwhile.
    @Test func aReaderThatBlocksForAWhileOnlyIsNotConstant() async {
        let found = await violations(of: WaveringSource(base: MemorySource(bytes)), expecting: bytes)
        #expect(found.contains { $0.contract == 16 }, "\(found)")
    }

    @Test func anEmptySourceThatFailsIsNamed() async {
        let source = ClosureSource { _, _, _ in throw BlobError(.corrupted, "There is nothing.") }
        #expect(await violations(of: source, expecting: Data()).contains { $0.contract == 8 })
        #expect(await violations(of: MemorySource([]), expecting: Data()) == [])
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
        case keepsTheBuffer = 4
        case startsBehindTheOffset = 5
        case ignoresOffsets = 6
        case ignoresValidators = 7
        case endsEarly = 8
        case readersShareAPosition = 10
        case hasOneValidatorForAll = 11
        case cannotBeCancelled = 12
        case passesTheDeadline = 13
        case staysInMemory = 14
        case asksForAnotherTry = 15
        case blocksAtAnOffset = 16
    }

    let defect: Defect?
    private let shared = SharedPosition()

    init(defect: Defect?) { self.defect = defect }

    var traits: BlobTraits {
        self.defect == .blocksAtAnOffset
            ? [.repeatable, .concurrentReaders, .neverBlocks] : [.repeatable, .concurrentReaders]
    }

    func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(byteCount: Int64(bytes.count), validator: .strong("of these bytes"))
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        if self.defect == .asksForAnotherTry, opening.byteOffset > bytes.count {
            throw BlobError(.invalidArgument, "There are fewer bytes.", isTransient: true)
        }
        var info = self.describe(opening.context)
        if self.defect == .ignoresValidators { info.validator = opening.validator }
        let start = opening.byteOffset &+ (self.defect == .startsBehindTheOffset ? 1 : 0)
        let offset = self.defect == .ignoresOffsets ? 0 : min(max(0, start), Int64(bytes.count))
        if self.defect == .blocksAtAnOffset, offset > 0 { _ = WaitSignal().wait(for: .milliseconds(1100)) }
        if self.defect == .readersShareAPosition { self.shared.offset.withLock { $0 = Int(offset) } }
        let stream = BrokenStream(self.defect, info, Int(offset), self.shared, opening.context)
        if self.defect == .staysInMemory { _ = Unmanaged.passRetained(stream) }
        return .stream(stream, startingAt: start)
    }
}

final class SharedPosition: Sendable {
    let offset = Locked(0)
}

/// The openings of sources whose content is another one each second time.
private let openingCount = Locked(0)

private final class BrokenStream: BlobByteStream {
    let info: BlobInfo?
    private let defect: BrokenSource.Defect?
    private let shared: SharedPosition
    private let context: BlobContext
    private let isOther: Bool
    private var offset: Int
    private var kept: UnsafeMutableRawPointer?

    init(
        _ defect: BrokenSource.Defect?, _ info: BlobInfo, _ offset: Int, _ shared: SharedPosition,
        _ context: BlobContext
    ) {
        (self.defect, self.info, self.offset, self.shared, self.context) = (defect, info, offset, shared, context)
        let isEven = openingCount.withLock { count in
            if defect == .hasOneValidatorForAll { count += 1 }
            return count % 2 == 0
        }
        self.isOther = defect == .hasOneValidatorForAll && isEven
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.defect == .cannotBeCancelled || self.defect == .passesTheDeadline && self.context.deadline != nil {
            _ = WaitSignal().wait(for: .seconds(4))
        }
        if self.defect == .saysBytesAndGivesNone { return .bytes }
        if self.defect == .keepsTheBuffer {
            self.kept?.storeBytes(of: 1, as: UInt8.self)
            // Only the memory of the kit's check, which is still there.
            self.kept = output.withUnsafeMutableBytes { buffer, _ in buffer.count == 64 ? buffer.baseAddress : nil }
        }
        if self.defect == .readersShareAPosition { self.offset = self.shared.offset.withLock { $0 } }
        defer { if self.defect == .readersShareAPosition { self.shared.offset.withLock { $0 = self.offset } } }
        let end = self.defect == .endsEarly ? bytes.count - 1 : bytes.count
        guard self.offset < end else { return .end }
        if self.isOther {
            output.append(repeating: 0, count: 1, as: UInt8.self)
            self.offset += 1
        } else {
            self.offset += bytes[self.offset..<end].withUnsafeBytes { output.append(contentsOf: $0) }
        }
        return .bytes
    }
}
