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
        try registry.register(BlobProvider(.origin(origin), schemes: ["text"]))
        try registry.register(
            BlobProvider(
                .filter { base, _ in IndexedSource(underlying: base) }, schemes: ["indexed"],
                signatures: [BlobSignature(Array("i:".utf8))]))
        try registry.register(
            BlobProvider(
                .filter { base, _ in LayeredSource(underlying: base) }, schemes: ["layer"],
                signatures: [BlobSignature(Array("l:".utf8))]))
        try registry.register(
            BlobProvider(
                .container { base, _ in IndexedContainer(base: base) }, schemes: ["box"],
                signatures: [BlobSignature(Array("c:".utf8))]))
        return registry
    }

    @Test(arguments: [
        ("indexed+text:x", "filter"), ("layer+indexed+text:x", "filter"), ("box+indexed+text:x", "container"),
        ("layer+box+text:x#m", "filter"), ("text:i:", "filter"), ("text:c:", "container"),
    ])
    func theOutermostLayerThatCanIsIndexed(locator: String, expected: String) throws {
        let made = Locked<[String]>([])
        let context = BlobContext { event in
            guard event.kind == .indexBuilt else { return }
            made.withLock { $0.append(event.value == 1 ? "filter" : "container") }
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
}

extension BlobLayer {
    /// What is behind the signature.
    fileprivate var content: any BlobInputStreamDataSource { self.underlying.slice(2...) }
}

/// Stands for a layer that can be seen through.
private struct LayeredSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource
    var traits: BlobTraits { self.underlying.traits.subtracting(.neverBlocks) }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.content.info(context) }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.content.makeBody(opening) }
}

/// Stands for a format with restart points.
private struct IndexedSource: BlobLayer, BlobIndexing {
    let underlying: any BlobInputStreamDataSource
    var traits: BlobTraits { self.underlying.traits.subtracting(.neverBlocks) }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.content.info(context) }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.content.makeBody(opening) }
    func buildIndex(_ context: BlobContext) throws -> Bool {
        context.eventSink?(BlobEvent(.indexBuilt, 1))
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
        context.eventSink?(BlobEvent(.indexBuilt, 2))
        return true
    }
}
