#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// Reading what was made from an asset, while the asset changes.
@Suite(.timeLimit(.minutes(5))) struct FollowedAssetTests {
    private let test: TestLibrary
    private let asset: Asset
    private let bytes = makeContent(10_000)

    init() throws {
        self.test = try TestLibrary()
        self.asset = try self.test.add([1, 2, 3])
    }

    private func reader(
        removal: AssetSource.RemovalPolicy = .finish, _ context: BlobContext = BlobContext()
    ) throws -> BlobReader {
        let library = try self.test.open(.reading)
        let (asset, bytes) = (self.asset, self.bytes)
        let source = FollowedSource { context in
            let base = try MemorySource(Data(bytes)).open(context: context)
            let resolver = AssetResolver(library: library, id: asset.id)
            return .inspected(
                base, AssetChangeInspector(asset, resolver, at: 0, removal: removal, context), startingAt: 0)
        }
        return try source.open(context: context)
    }

    private func edit() throws {
        _ = try self.test.sql("UPDATE asset SET generation = generation + 1, adjustment = '{}'", Int.self)
    }

    @Test func whatIsNotEditedIsReadToItsEnd() throws {
        let reader = try self.reader(removal: .fail)
        let start = try read(reader, upTo: 100)
        try self.test.add([9])
        #expect(try start + readAll(reader) == self.bytes)
        try self.edit()
        // The end was reached before the edit.
        #expect(try read(reader, upTo: 1).isEmpty)
    }

    @Test(arguments: [0, 1, 9999, 10_000])
    func anEditEndsTheReadingWithAnError(count: Int) async throws {
        let events = Recorder<BlobEvent>()
        let reader = try self.reader(BlobContext(eventSink: { events.append($0) }))
        var got = 0
        while got < count { got += try read(reader, upTo: count - got).count }
        try self.edit()
        let error = #expect(throws: BlobError.self) { _ = try read(reader, upTo: 1) }
        #expect(error?.code == .changed && error?.message.contains("generation 2") == true)
        // Reported once, by the reader or by the watch.
        _ = await events.first { $0.kind == .invalidated }
        #expect(events.values.count == 1)
        #expect(codeThrown { try read(reader, upTo: 1) } == .changed)
    }

    @Test func aRemovalMattersOnlyWhenItIsAskedFor() throws {
        let readers = try [AssetSource.RemovalPolicy.finish, .fail].map { try self.reader(removal: $0) }
        for reader in readers { #expect(try read(reader, upTo: 100).count == 100) }
        try self.test.library.removeAsset(self.asset.id)
        #expect(try readAll(readers[0]) == Array(self.bytes[100...]))
        #expect(codeThrown { _ = try readAll(readers[1]) } == .changed)
    }

    @Test func anEditIsReportedWhileNobodyReads() async throws {
        let events = Recorder<BlobEvent>()
        let reader = try self.reader(BlobContext(eventSink: { events.append($0) }))
        try self.edit()
        _ = await events.first { $0.kind == .invalidated }
        #expect(codeThrown { try read(reader, upTo: 1) } == .changed)
        #expect(events.values.count == 1)
    }
}

private struct FollowedSource: BlobInputStreamDataSource {
    let body: @Sendable (BlobContext) throws -> BlobBody

    let traits: BlobTraits = []
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.body(opening.context) }
}
#endif
