import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import GzipSource
import Testing

/// Opening over a base that never blocks returns before the facts about the base are known, whatever it is opened with.
@Suite(.timeLimit(.minutes(5))) struct GzipLateBaseTests {
    private static let bytes = sampleBytes(300_000)

    private static let sources: [@Sendable (any BlobInputStreamDataSource) -> any BlobInputStreamDataSource] = [
        { GzipSource($0) }, { GzipSource($0, format: .zlib) }, { GzipEncodedSource($0) },
    ]

    @Test(arguments: sources.indices, [0, 1, 200_000])
    func openingDoesNotWait(form: Int, byteOffset: Int) async throws {
        let file = [gzipped(Self.bytes), compressed(Self.bytes, .zlib), Self.bytes][form]
        let whole = try await Self.sources[form](MemorySource(file)).data(upTo: 1 << 20)
        let offset = min(byteOffset, whole.count)
        for isCompared in [false, true] {
            let base = LateSource(file)
            let source = Self.sources[form](base)
            #expect(source.traits.contains(.neverBlocks))
            let validator = isCompared ? try Self.sources[form](base.known).info().validator : nil
            let reader = try source.open(at: Int64(offset), matching: validator)
            #expect(!reader.isOpen && base.askedCount == 0)
            base.arrive()
            #expect(try Data(readAll(reader)) == whole.dropFirst(offset))
        }
    }

    @Test(arguments: sources.indices) func anotherValidatorIsAnErrorOfTheFirstRead(form: Int) throws {
        let base = LateSource(Self.bytes)
        let reader = try Self.sources[form](base).open(matching: .strong("another"))
        base.arrive()
        #expect(codeThrown { try read(reader, upTo: 1) } == .changed)
    }

    /// An earlier reader has found blocks, at one of which a later one begins.
    @Test(arguments: [false, true]) func aBlockIsReachedWithoutWaiting(hasChanged: Bool) async throws {
        let file = blocked(Self.bytes)
        let base = LateSource(file)
        let source = GzipSource(base)
        base.arrive()
        #expect(try await source.data(upTo: 1 << 20) == Self.bytes)
        let validator = try source.info().validator
        base.retreat(to: hasChanged ? gzipped(Data(Self.bytes.reversed())) : file)
        let reader = try source.open(at: 250_000, matching: hasChanged ? nil : validator)
        #expect(!reader.isOpen)
        base.arrive()
        let expected = hasChanged ? Data(Self.bytes.reversed()) : Self.bytes
        #expect(try Data(readAll(reader)) == expected.dropFirst(250_000))
        #expect(hasChanged || base.openedOffsets.contains { $0 > 0 })
    }
}

/// An event-driven source whose facts and bytes arrive when the test says so.
private final class LateSource: BlobInputStreamDataSource {
    private struct State {
        var content: Data
        var version = 0
        var hasArrived = false
        var askedCount = 0
        var offsets: [Int64] = []
        var slots: [BlobWakerSlot] = []
    }

    private let state: Locked<State>

    init(_ content: Data) { self.state = Locked(State(content: content)) }

    let traits: BlobTraits = [.repeatable, .concurrentReaders, .neverBlocks]

    /// The number of calls that ask for the facts, and would wait for them.
    var askedCount: Int { self.state.withLock { $0.askedCount } }
    /// The offsets at which readers were opened.
    var openedOffsets: [Int64] { self.state.withLock { $0.offsets } }

    /// The same content and facts, without waiting.
    var known: any BlobInputStreamDataSource {
        let (content, info) = self.state.withLock { ($0.content, Self.info($0)) }
        return ClosureSource(info: info) { offset, output, _ in
            _ = content.dropFirst(Int(offset)).withUnsafeBytes { output.append(contentsOf: $0) }
        }
    }

    func arrive() {
        let slots = self.state.withLock { state in
            state.hasArrived = true
            return state.slots
        }
        for slot in slots { slot.fire() }
    }

    /// Has later readers wait again, for other content perhaps.
    func retreat(to content: Data) {
        self.state.withLock { state in
            if state.content != content { state.version += 1 }
            (state.content, state.hasArrived) = (content, false)
        }
    }

    private static func info(_ state: State) -> BlobInfo {
        BlobInfo(
            byteCount: Int64(state.content.count), validator: .strong("late-\(state.version)"), isRandomAccess: true)
    }

    func describe(_ context: BlobContext) -> BlobInfo {
        self.state.withLock { state in
            state.askedCount += 1
            return Self.info(state)
        }
    }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        let slot = BlobWakerSlot()
        self.state.withLock { state in
            state.offsets.append(opening.byteOffset)
            state.slots.append(slot)
        }
        return .stream(LateBytes(self, slot), startingAt: opening.byteOffset)
    }

    private final class LateBytes: BlobByteStream {
        private let source: LateSource
        private let slot: BlobWakerSlot

        init(_ source: LateSource, _ slot: BlobWakerSlot) { (self.source, self.slot) = (source, slot) }

        var info: BlobInfo? { self.source.state.withLock { $0.hasArrived ? LateSource.info($0) : nil } }
        var readiness: BlobWakerSlot? { self.slot }

        func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult {
            let content = self.source.state.withLock { $0.hasArrived ? $0.content : nil }
            guard let content else { return .notYet }
            let count = content.dropFirst(Int(byteOffset)).withUnsafeBytes { output.append(contentsOf: $0) }
            return count > 0 ? .bytes : .end
        }
    }
}
