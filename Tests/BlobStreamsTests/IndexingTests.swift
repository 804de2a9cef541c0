import BlobStreams
import Foundation
import Testing

/// Which layer of a locator is indexed, with a stand-in for formats.
@Suite struct IndexingTests {
    private func registry() throws -> BlobRegistry {
        var registry = BlobRegistry()
        let origin: @Sendable (BlobLocator, BlobContext) -> any BlobInputStreamDataSource = { locator, _ in
            MemorySource(locator.schemeSpecificPart.utf8)
        }
        try registry.register(BlobProvider(.origin(origin), schemes: ["text"], module: "Tests"))
        try registry.register(
            BlobProvider(
                .filter { base, _ in IndexedSource(underlying: base) }, schemes: ["indexed"],
                signatures: [BlobSignature(Array("i:".utf8))], module: "Tests"))
        try registry.register(
            BlobProvider(
                .filter { base, _ in LayeredSource(underlying: base) }, schemes: ["layer"],
                signatures: [BlobSignature(Array("l:".utf8))], module: "Tests"))
        try registry.register(
            BlobProvider(
                .container { base, _ in IndexedContainer(base: base) }, schemes: ["box"],
                signatures: [BlobSignature(Array("c:".utf8))], module: "Tests"))
        return registry
    }

    @Test(arguments: [
        ("indexed+text:x", "filter"), ("layer+indexed+text:x", "filter"), ("box+indexed+text:x", "container"),
        ("layer+box+text:x#m", "filter"), ("text:i:", "filter"), ("text:c:", "container"),
    ])
    func theOutermostLayerThatCanIsIndexed(locator: String, expected: String) throws {
        let made = Locked<[String]>([])
        let context = BlobContext { event in
            if case .indexBuilt(let count) = event { made.withLock { $0.append(count == 1 ? "filter" : "container") } }
        }
        let indexable = try self.registry().indexable(for: BlobLocator(locator), context: context)
        #expect(try indexable.buildIndex(context))
        #expect(made.withLock { $0 } == [expected])
    }

    @Test(arguments: ["text:x", "layer+text:l:x", "text:l:", "layer+layer+text:l:l:x"])
    func whereNoLayerCanItIsUnsupported(locator: String) throws {
        let error = #expect(throws: BlobError.self) {
            try self.registry().indexable(for: BlobLocator(locator), context: BlobContext())
        }
        #expect(error?.code == .unsupported)
        #expect(error?.locator == locator)
    }

    @Test func factsAreText() throws {
        let facts: [BlobFact.Value] = [
            .integer(-7), .text("a b"), .bool(true), .bool(false), .date(Date(timeIntervalSince1970: 86_401)),
            .date(.distantFuture), .date(Date(timeIntervalSince1970: -1e300)),
            .date(Date(timeIntervalSince1970: 1e300)),
        ]
        #expect(
            facts.map(\.description) == [
                "-7", "a b", "yes", "no", "1970-01-02T00:00:01Z", "4001-01-01T00:00:00Z", "1582-10-15T00:00:00Z",
                "9999-12-31T23:59:59Z",
            ])
        let json = String(decoding: try JSONEncoder().encode(Array(facts.prefix(5))), as: UTF8.self)
        #expect(json == "[-7,\"a b\",true,false,\"1970-01-02T00:00:01Z\"]")
    }
}

extension BlobLayer {
    /// What is behind the signature.
    fileprivate var content: SliceSource { SliceSource(self.underlying, from: 2) }
}

/// Stands for a layer that can be seen through.
private struct LayeredSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource
    var traits: BlobTraits { self.underlying.traits.subtracting(.neverBlocks) }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.content.info(context) }
    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try self.content.makeReader(at: byteOffset, matching: validator, context: context)
    }
}

/// Stands for a format with restart points.
private struct IndexedSource: BlobLayer, BlobIndexing {
    let underlying: any BlobInputStreamDataSource
    var traits: BlobTraits { self.underlying.traits.subtracting(.neverBlocks) }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.content.info(context) }
    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try self.content.makeReader(at: byteOffset, matching: validator, context: context)
    }
    func buildIndex(_ context: BlobContext) throws -> Bool {
        context.eventSink?(.indexBuilt(byteCount: 1))
        return true
    }
}

/// Stands for an archive with a member table; its members can be indexed like gzip.
private struct IndexedContainer: BlobContainer, BlobIndexing {
    let base: any BlobInputStreamDataSource
    func member(_ selector: BlobLocator.Selector, context: BlobContext) throws -> any BlobInputStreamDataSource {
        IndexedSource(underlying: self.base)
    }
    func forEachMember(_ context: BlobContext, _ body: (BlobMember) throws -> Bool) throws {}
    func buildIndex(_ context: BlobContext) throws -> Bool {
        context.eventSink?(.indexBuilt(byteCount: 2))
        return true
    }
}
