#if Photos
import AssetLibrarySource
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

/// Reading assets, and what may happen to their originals meanwhile.
@Suite struct ReadingTests {
    private let test: TestLibrary
    private let window = AssetSource.windowByteCount

    init() throws { self.test = try TestLibrary() }

    @Test(arguments: [0, 1, 63, 5000, 1 << 18, 1 << 18 | 1, 600_001])
    func anAssetKeepsEveryContract(byteCount: Int) async throws {
        let bytes = makeContent(byteCount)
        let source = self.test.library.source(for: try self.test.add(bytes).id)
        let found = await violations(of: source, expecting: Data(bytes))
        #expect(found.isEmpty, "\(found)")
    }

    @Test func anAssetKeepsEveryContractWhenItIsMadeEventDriven() async throws {
        let bytes = makeContent(70_000)
        let source = self.test.library.source(for: try self.test.add(bytes).id)
        for eventDriven: any BlobInputStreamDataSource in [ReadAheadSource(source), DripSource(source)] {
            let found = await violations(of: eventDriven, expecting: Data(bytes))
            #expect(found.isEmpty, "\(found)")
        }
    }

    @Test func theInfoIsThatOfTheCatalogue() throws {
        let asset = try self.test.add([0xFF, 0xD8, 0xFF, 0xD9], named: "holiday.jpeg")
        let source = self.test.library.source(for: asset.id)
        let info = try source.info()
        #expect(info.byteCount == 4)
        #expect(info.name == "holiday.jpeg")
        #expect(info.mediaType == "image/jpeg")
        #expect(info.validator == .strong("sha256:\(asset.sha256.hexadecimal)"))
        #expect(try source.open().info == info)
    }

    @Test(arguments: [1, 7, 4096, 65_536, 1 << 18, 1_000_000, 3 << 20])
    func readsOfEverySizeGiveTheBytes(byteCount: Int) throws {
        let bytes = makeContent(byteCount < 1000 ? 300_000 : 2 << 20 | 99)
        let reader = try self.test.library.source(for: try self.test.add(bytes).id).open()
        let isEqual = try readAll(reader, inPiecesOf: byteCount) == bytes
        #expect(isEqual)
    }

    @Test func smallReadsAreServedFromTheWindow() throws {
        let bytes = makeContent(3 * self.window)
        let asset = try self.test.add(bytes)
        let reader = try self.test.library.source(for: asset.id).open()
        #expect(try read(reader, upTo: 10) == Array(bytes[..<10]))
        // Rewritten under the reader: what is in the window was right when it was fetched, and is not fetched again.
        try overwrite(self.test.originalPath(of: asset), at: 10, with: [UInt8](repeating: 0, count: self.window))
        var got = 10
        while got < self.window {
            let piece = try read(reader, upTo: 1000)
            try #require(piece == Array(bytes[got..<(got + piece.count)]))
            got += piece.count
        }
        #expect(got == self.window)
        #expect(codeThrown { try read(reader, upTo: 1) } == .changed)
    }

    @Test func aFlippedBitIsFoundBeforeAByteOfItsBlock() throws {
        let bytes = makeContent(3 * self.window)
        let asset = try self.test.add(bytes)
        for byteOffset in [0, self.window, 3 * self.window - 1] {
            let path = try self.test.originalPath(of: asset)
            try overwrite(path, at: Int64(byteOffset), with: [bytes[byteOffset] ^ 4])
            let reader = try self.test.library.source(for: asset.id).open()
            var got = 0
            let code = codeThrown {
                while case let piece = try read(reader, upTo: self.window), !piece.isEmpty { got += piece.count }
            }
            #expect(code == .checksumMismatch)
            // All that lies before the block, and nothing of it.
            #expect(got == byteOffset / self.window * self.window)
            #expect(codeThrown { try read(reader, upTo: 1) } == .checksumMismatch)
            try overwrite(path, at: Int64(byteOffset), with: [bytes[byteOffset]])
        }
        #expect(try readAll(self.test.library.source(for: asset.id).open()) == bytes)
    }

    @Test func aSmallDamagedOriginalGivesNoByte() throws {
        let asset = try self.test.add([1, 2, 3])
        try overwrite(self.test.originalPath(of: asset), at: 1, with: [9])
        let reader = try self.test.library.source(for: asset.id).open()
        #expect(codeThrown { try read(reader, upTo: 1) } == .checksumMismatch)
    }

    @Test func anOriginalOfAnotherSizeIsNotOpened() throws {
        for count in [0, 1, 3] {
            let asset = try self.test.add([UInt8](repeating: UInt8(count), count: 2))
            try write([UInt8](repeating: 0, count: count), to: self.test.originalPath(of: asset))
            #expect(codeThrown { try self.test.library.source(for: asset.id).open() } == .sizeMismatch)
        }
    }

    @Test func anOriginalThatIsMovedWhileItIsReadIsReadOn() throws {
        let bytes = makeContent(5 * self.window)
        let asset = try self.test.add(bytes)
        for policy in [AssetSource.RemovalPolicy.finish, .fail] {
            let events = Events()
            let reader = try self.test.library.source(for: asset.id, removal: policy).open(context: events.context)
            let start = try read(reader, upTo: self.window)
            try self.move(asset)
            #expect(try start + readAll(reader) == bytes)
            #expect(
                events.all == [
                    BlobEvent(.invalidated, Int64(self.window)), BlobEvent(.recovering, Int64(self.window)),
                    BlobEvent(.recovered, Int64(self.window)),
                ])
        }
    }

    @Test func anOriginalThatIsCopiedElsewhereAndTruncatedIsReadOnFromThere() throws {
        let bytes = makeContent(5 * self.window)
        let asset = try self.test.add(bytes)
        let path = try self.test.originalPath(of: asset)
        for start in [0, 777] {
            let events = Events()
            let reader = try self.test.library.source(for: asset.id).open(at: Int64(start), context: events.context)
            let first = try read(reader, upTo: self.window)
            try write(bytes, to: self.test.path("originals/copy\(start)"))
            _ = try self.test.sql("UPDATE original SET path = 'originals/copy\(start)'", Int.self)
            try #require(truncate(start == 0 ? path : self.test.path("originals/copy0"), 0) == 0)
            #expect(try first + readAll(reader) == Array(bytes[start...]))
            #expect(events.all.map(\.kind) == [.invalidated, .recovering, .recovered])
        }
    }

    @Test func anOriginalThatIsOnlyTouchedIsReadOn() throws {
        let bytes = makeContent(3 * self.window)
        let asset = try self.test.add(bytes)
        let events = Events()
        let reader = try self.test.library.source(for: asset.id).open(context: events.context)
        let start = try read(reader, upTo: self.window)
        try #require(utimes(self.test.originalPath(of: asset), nil) == 0)
        #expect(try start + readAll(reader) == bytes)
        #expect(events.all.last == BlobEvent(.recovered, Int64(self.window)))
    }

    @Test func anOriginalThatIsRewrittenWhileItIsReadHasChanged() throws {
        let bytes = makeContent(3 * self.window)
        let asset = try self.test.add(bytes)
        let path = try self.test.originalPath(of: asset)
        let changes: [() throws -> Void] = [
            { try overwrite(path, at: 0, with: [bytes[0] ^ 1]) },
            { try overwrite(path, at: Int64(bytes.count) - 1, with: [bytes[0]]) },
            { try overwrite(path, at: Int64(bytes.count), with: [1]) },
            { try #require(truncate(path, off_t(self.window)) == 0) },
            { try #require(truncate(path, 0) == 0) },
        ]
        for change in changes {
            try overwrite(path, at: 0, with: bytes)
            try #require(truncate(path, off_t(bytes.count)) == 0)
            let events = Events()
            let reader = try self.test.library.source(for: asset.id).open(context: events.context)
            _ = try read(reader, upTo: self.window)
            try change()
            #expect(codeThrown { try read(reader, upTo: self.window) } == .changed)
            #expect(codeThrown { try read(reader, upTo: self.window) } == .changed)
            #expect(events.all.map(\.kind) == [.invalidated, .recovering])
            #expect(events.all.allSatisfy { $0.value == Int64(self.window) })
        }
    }

    @Test func anAssetThatIsGivenAnotherOriginalHasChanged() throws {
        let asset = try self.test.add(makeContent(3 * self.window))
        let other = try self.test.add(makeContent(3 * self.window).reversed())
        let validator = asset.validator
        let source = self.test.library.source(for: asset.id)
        let reader = try source.open()
        _ = try read(reader, upTo: self.window)
        _ = try self.test.sql(
            """
            UPDATE asset SET original_id = (SELECT original_id FROM asset WHERE uuid = '\(other.id.uuidString)'),
                generation = 2 WHERE uuid = '\(asset.id.uuidString)'
            """, Int.self)
        try #require(
            unlink(self.test.path("originals/\(self.test.files.first { $0.contains(asset.id.uuidString) } ?? "")")) == 0
        )
        #expect(codeThrown { try read(reader, upTo: self.window) } == .changed)
        #expect(codeThrown { try source.open(matching: validator) } == .changed)
        #expect(try source.info().validator == other.validator)
        #expect(try self.test.library.asset(asset.id)?.generation == 2)
    }

    @Test func anOriginalThatIsReplacedByAnotherFileIsReadToItsOldEndUnlessAskedOtherwise() throws {
        let bytes = makeContent(3 * self.window)
        let asset = try self.test.add(bytes)
        let policies: [(AssetSource.RemovalPolicy, BlobError.Code?)] = [(.fail, .changed), (.finish, nil)]
        for (policy, code) in policies {
            try write(bytes, to: self.test.originalPath(of: asset))
            let reader = try self.test.library.source(for: asset.id, removal: policy).open()
            let start = try read(reader, upTo: self.window)
            let path = try self.test.originalPath(of: asset)
            try write(bytes.reversed(), to: path + ".new")
            try #require(rename(path + ".new", path) == 0)
            var rest: [UInt8] = []
            #expect(codeThrown { rest = try readAll(reader) } == code)
            #expect(code != nil || start + rest == bytes)
        }
    }

    @Test func anAssetThatIsRemovedWhileItIsReadIsReadToItsEndUnlessAskedOtherwise() throws {
        let bytes = makeContent(3 * self.window)
        for (policy, code) in [(AssetSource.RemovalPolicy.finish, BlobError.Code?.none), (.fail, .changed)] {
            let asset = try self.test.add(bytes)
            let source = self.test.library.source(for: asset.id, removal: policy)
            let events = Events()
            let reader = try source.open(context: events.context)
            let start = try read(reader, upTo: self.window)
            try self.test.library.removeAsset(asset.id)
            var rest: [UInt8] = []
            #expect(codeThrown { rest = try readAll(reader) } == code)
            #expect(code != nil || start + rest == bytes)
            #expect(events.all.first == BlobEvent(.invalidated, Int64(self.window)))
            #expect(codeThrown { try source.open() } == .notFound)
            #expect(codeThrown { try source.info() } == .notFound)
        }
    }

    @Test func anOriginalThatIsGoneIsNotFound() throws {
        let asset = try self.test.add([1])
        try #require(unlink(self.test.originalPath(of: asset)) == 0)
        #expect(codeThrown { try self.test.library.source(for: asset.id).open() } == .notFound)
    }

    @Test(arguments: ["originals/../../etc/passwd", "/etc/passwd", "originals/.incoming/x", "lock", "originals//x", ""])
    func aForgedPathIsNotOpened(path: String) throws {
        let asset = try self.test.add([1])
        _ = try self.test.sql("UPDATE original SET path = '\(path)'", Int.self)
        #expect(codeThrown { try self.test.library.source(for: asset.id).open() } == .corrupted)
    }

    @Test func aLinkInThePlaceOfAnOriginalIsNotFollowed() throws {
        let asset = try self.test.add([1])
        let path = try self.test.originalPath(of: asset)
        try #require(unlink(path) == 0 && symlink("/etc/passwd", path) == 0)
        #expect(codeThrown { try self.test.library.source(for: asset.id).open() } == .io)
    }

    @Test func manyReadersReadAtOnce() async throws {
        let bytes = makeContent(3 * self.window)
        let source = self.test.library.source(for: try self.test.add(bytes).id)
        let window = self.window
        let results = try await onThreads(16) { number in
            try readAll(source.open(at: Int64(number * 100)), inPiecesOf: 3000 + window * (number % 2))
                == Array(bytes[(number * 100)...])
        }
        #expect(results.count == 16 && !results.contains(false))
    }

    @Test func readingGoesOnWhileSomebodyWrites() async throws {
        let bytes = makeContent(2000)
        let test = self.test
        let source = try test.open(.reading).source(for: try test.add(bytes).id)
        _ = try await onThreads(4) { number in
            for round in 0..<25 {
                if number == 0 {
                    _ = try test.add(makeContent(100 + round))
                } else {
                    try #require(try readAll(source.open()) == bytes)
                }
            }
        }
        #expect(try test.assets.count == 26)
    }

    private func move(_ asset: Asset) throws {
        let name = "originals/moved-\(UUID().uuidString)"
        try #require(rename(self.test.originalPath(of: asset), self.test.path(name)) == 0)
        _ = try self.test.sql("UPDATE original SET path = '\(name)'", Int.self)
    }
}
#endif
