#if Photos
import AssetLibrarySource
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Reading an asset while the catalogue changes, and its file does not.
@Suite struct RecatalogueTests {
    private let test: TestLibrary
    private let bytes: [UInt8]
    private let asset: Asset
    private let window = AssetSource.windowByteCount

    init() throws {
        self.test = try TestLibrary()
        self.bytes = makeContent(3 * self.window)
        self.asset = try self.test.add(self.bytes)
    }

    /// Opens a reader by another library, as another process has one, and reads up to an offset.
    private func reader(
        _ version: AssetSource.Version = .current, removal: AssetSource.RemovalPolicy = .finish, at start: Int = 0,
        upTo end: Int, _ events: Events = Events()
    ) throws -> BlobReader {
        let source = try self.test.open(.reading).source(for: self.asset.id, version: version, removal: removal)
        let reader = try source.open(at: Int64(start), context: events.context)
        var byteOffset = start
        while byteOffset < end { byteOffset += try read(reader, upTo: min(self.window, end - byteOffset)).count }
        return reader
    }

    /// Changes the row of an asset as an adjustment does.
    private func adjust() throws {
        _ = try self.test.sql(
            "UPDATE asset SET generation = generation + 1 WHERE uuid = '\(self.asset.id.uuidString)'", Int.self)
    }

    @Test(arguments: [0, 1, 5000, 1 << 18, 2 << 18, 3 << 18])
    func anAssetThatIsEditedWhileItIsReadHasChangedAndTheErrorNamesWhatItIsNow(end: Int) throws {
        for start in [0, end / 2] {
            let events = Events()
            let reader = try self.reader(at: start, upTo: end, events)
            try self.adjust()
            let generation = try #require(try self.test.library.asset(self.asset.id)).generation
            let error = #expect(throws: BlobError.self) { _ = try readAll(reader) }
            #expect(error?.code == .changed)
            #expect(error?.message.contains("generation \(generation) with the validator sha256:") == true)
            #expect(error?.locator?.contains(self.asset.id.uuidString) == true)
            #expect(events.all.map(\.kind) == [.invalidated, .recovering])
            #expect(codeThrown { try read(reader, upTo: 1) } == .changed)
        }
    }

    @Test func theOriginalOfAnAssetThatIsEditedIsReadOn() throws {
        let events = Events()
        let reader = try self.reader(.original, removal: .fail, upTo: 5000, events)
        try self.adjust()
        #expect(try readAll(reader) == Array(self.bytes[5000...]))
        #expect(events.all.isEmpty)
    }

    @Test func commitsThatDoNotConcernTheAssetAreNoEvents() throws {
        let events = Events()
        let reader = try self.reader(upTo: 5000, events)
        try self.test.add([1, 2, 3])
        #expect(try readAll(reader) == Array(self.bytes[5000...]))
        #expect(events.all.isEmpty)
    }

    @Test func anAssetThatSharesItsOriginalAndIsRemovedIsReadToItsEndUnlessAskedOtherwise() throws {
        _ = try self.test.library.importAsset(from: MemorySource(Data(self.bytes)), duplicates: .addAsset)
        let events = Events()
        let readers = try [AssetSource.RemovalPolicy.finish, .fail].map {
            try self.reader(removal: $0, upTo: 5000, $0 == .finish ? events : Events())
        }
        try self.test.library.removeAsset(self.asset.id)
        #expect(try readAll(readers[0]) == Array(self.bytes[5000...]))
        #expect(events.all.map(\.kind) == [.invalidated, .recovering, .recovered])
        #expect(codeThrown { _ = try readAll(readers[1]) } == .changed)
    }

    /// The removal is found once, not at each of the commits after it.
    @Test func aRemovalIsOneInterruption() throws {
        let events = Events()
        let reader = try self.reader(upTo: 1, events)
        _ = try self.test.library.importAsset(from: MemorySource(Data(self.bytes)), duplicates: .addAsset)
        try self.test.library.removeAsset(self.asset.id)
        var got: [UInt8] = []
        while case let piece = try read(reader, upTo: self.window), !piece.isEmpty {
            got += piece
            try self.test.add(Array("\(got.count)".utf8))
        }
        #expect(got == Array(self.bytes[1...]))
        #expect(events.all.count == 3)
    }

    @Test func aCatalogueThatIsReplacedIsOpenedAgain() throws {
        let policies: [AssetSource.RemovalPolicy] = [.finish, .fail]
        let readers = try policies.map { try self.reader(removal: $0, upTo: 5000) }
        try self.test.replaceCatalogue()
        for reader in readers { #expect(try readAll(reader) == Array(self.bytes[5000...])) }
        // The asset is not in the new one.
        let others = try policies.map { try self.reader(removal: $0, upTo: 5000) }
        try self.test.replaceCatalogue(changedBy: "DELETE FROM asset")
        #expect(try readAll(others[0]) == Array(self.bytes[5000...]))
        #expect(codeThrown { _ = try readAll(others[1]) } == .changed)
    }
}
#endif
