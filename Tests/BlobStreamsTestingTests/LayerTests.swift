import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import BlobStreamsTesting

private let bytes = Data((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) })

/// Layers that are wrong only over a base that fails, or whose facts come late.
@Suite struct LayerTests {
    @Test(arguments: WaitingLayer.Place.allCases)
    func aLayerThatWaitsForTheFactsOfItsBaseIsNamed(_ place: WaitingLayer.Place) async throws {
        let makeLayer: Kit.MakeLayer = { WaitingLayer(base: $0(MemorySource(bytes)), place: place) }
        let kit = Kit({ try makeLayer { $0 } }, expecting: Expectation(bytes))
        let found = try await onThread {
            kit.run([{ kit.checkLateFacts(makeLayer, within: .milliseconds(200)) }])
        }
        #expect(found.map(\.contract) == [16], "\(found)")
        #expect(found.allSatisfy { $0.message.contains("'\(place.call)'") }, "\(found)")
        // What the kit cannot see of the layer alone.
        #expect(await violations(of: try makeLayer { $0 }, expecting: bytes) == [])
    }

    @Test(arguments: [
        BlobError(.corrupted, "It is damaged."), BlobError(.unavailable, "Gone.", isTransient: false),
        BlobError(.io, "Gone.", isTransient: true),
    ])
    func aLayerThatReportsAnotherErrorIsNamed(_ error: BlobError) throws {
        let found = try violations(ofLayer: { Translation.Source(base: $0(MemorySource(bytes)), error: error) })
        #expect(found.contains { $0.contract == 15 }, "\(found)")
    }

    @Test func aLayerThatTakesAnErrorForTheEndIsNamed() throws {
        let found = try violations(ofLayer: { base in
            let base = base(MemorySource(bytes))
            return ClosureSource { offset, output, context in
                let reader = try base.open(at: offset, context: context)
                _ = try? reader.readBlocking(into: &output)
            }
        })
        #expect(found.contains { $0.contract == 8 }, "\(found)")
    }

    @Test func soundLayersBreakNothing() throws {
        #expect(try violations(ofLayer: { $0(MemorySource(bytes)) }) == [])
        #expect(try violations(ofLayer: { $0(MemorySource(bytes)).slice(7..<90) }) == [])
        #expect(try violations(ofLayer: { ConcatenatedSource([$0(MemorySource(bytes)), MemorySource([1])]) }) == [])
        // It says that it may block.
        #expect(try violations(ofLayer: { WaitingLayer(base: FaultSource($0(MemorySource(bytes)), .half)) }) == [])
    }
}

/// A layer that asks its base for facts and waits for them, in the middle of the blob or with a validator only, or
/// when it is read.
struct WaitingLayer: ForwardingSource {
    enum Place: CaseIterable, Sendable {
        case anywhere, offset, validator, read

        var call: String { self == .read ? "read" : "open" }
    }

    let base: any BlobInputStreamDataSource
    var place = Place.anywhere

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let waits =
            switch self.place {
            case .anywhere: true
            case .offset: opening.byteOffset > 0
            case .validator: opening.validator != nil
            case .read: false
            }
        if waits { _ = try self.base.info(opening.context) }
        let reader = try self.base.open(opening)
        guard self.place == .read else { return .inspected(reader, UnchangedBytes(), startingAt: opening.byteOffset) }
        return .stream(WaitingLayerStream(reader), startingAt: opening.byteOffset)
    }
}

private final class WaitingLayerStream: BlobByteStream {
    private let base: BlobReader

    init(_ base: BlobReader) { self.base = base }

    var info: BlobInfo? { get throws { try self.base.knownInfo() } }
    var readiness: BlobWakerSlot? { self.base.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.base.readBlocking(into: &output)
    }

    func close() { self.base.close() }
}

/// Reports each error of the base as another one.
private struct Translation: BlobInspector {
    struct Source: ForwardingSource {
        let base: any BlobInputStreamDataSource
        let error: BlobError

        func makeBody(_ opening: BlobOpening) throws -> BlobBody {
            .inspected(try self.base.open(opening), Translation(error: self.error), startingAt: opening.byteOffset)
        }
    }

    let error: BlobError

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
    func reportedError(_ error: BlobError) -> BlobError { self.error }
}
