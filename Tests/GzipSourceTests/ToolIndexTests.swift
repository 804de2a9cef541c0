import BlobIndex
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import GzipSource

/// Indexes of gzip data that other tools made; see `Fixtures/README.md`.
@Suite struct ToolIndexTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private static let ofText = ["text.gzidx", "text.rapidgzip", "text.gztool", "text.gztool-lines"]

    private func fixture(_ name: String) throws -> Data {
        try Data(contentsOf: BlobTestSupport.fixture(name, of: "GzipSourceTests"))
    }

    /// A source over a fixture in a file of this user, whose index file has these bytes.
    private func source(_ name: String, index: Data) throws -> GzipSource {
        let file = try self.folder.file("data.gz", self.fixture(name))
        try index.write(to: URL(fileURLWithPath: self.folder.path("index")))
        return GzipSource(file, index: .file(self.folder.path("index")))
    }

    private func source(_ name: String, indexed index: String) throws -> GzipSource {
        try self.source(name, index: self.fixture(index))
    }

    private func toolIndex() throws -> ToolIndex {
        let file = try #require(IndexFile(.file(self.folder.path("index")), for: nil))
        return try #require(try file.toolIndex())
    }

    private func faults(_ source: GzipSource) throws -> [String] {
        var faults: [String] = []
        _ = try source.verifyIndex(BlobContext()) { faults.append($0) }
        return faults
    }

    @Test func thePointsAreThoseThatTheToolsName() throws {
        _ = try self.source("text.gz", indexed: "text.gzidx")
        var index = try self.toolIndex()
        #expect(index.format == .indexedGzip && index.compressedByteCount == 185_467 && index.byteCount == 700_000)
        #expect(index.points.map(\.restartPoint.byteOffset) == [0, 219_403, 441_102, 662_857, 700_000])
        #expect(index.points.map { ($0.restartPoint.bitOffset + 7) / 8 } == [10, 58_470, 116_973, 175_619, 185_467])
        _ = try self.source("text.gz", indexed: "text.rapidgzip")
        index = try self.toolIndex()
        #expect(index.format == .indexedGzip && index.byteCount == 700_000 && index.points.count > 2)
        _ = try self.source("text.gz", indexed: "text.gztool")
        index = try self.toolIndex()
        #expect(index.format == .gztool && index.byteCount == 700_000 && index.points.count > 2)
        _ = try self.source("text.gz", indexed: "text.gztool-lines")
        #expect(
            try self.toolIndex().points.map(\.restartPoint.byteOffset) == index.points.map(\.restartPoint.byteOffset))
        _ = try self.source("blocks.gz", indexed: "blocks.gzi")
        index = try self.toolIndex()
        #expect(index.format == .bgzip && index.byteCount == nil)
        #expect(index.points.map(\.restartPoint.byteOffset) == [65_280, 130_560, 195_840])
    }

    @Test(arguments: ofText + ["blocks.gzi"])
    func anIndexIsComparedAndImported(_ name: String) throws {
        let data = name == "blocks.gzi" ? "blocks.gz" : "text.gz"
        let bytes = outcome(decoding: try self.fixture(data)).bytes
        let source = try self.source(data, indexed: name)
        #expect(try self.faults(source) == [])
        #expect(try source.verifyIndex(BlobContext()) { _ in } == self.toolIndex().points.count)
        for offset in [0, 1, 65_280, 130_559, bytes.count - 1, bytes.count] {
            let outcome = outcome(of: source, at: Int64(offset), pieceByteCount: 65_536)
            #expect(outcome.isWhole && outcome.bytes == bytes.dropFirst(offset), "from \(offset)")
        }
        #expect(throws: BlobError.self) { () throws in try source.buildIndex(BlobContext()) }
        // Reading has left it as it is.
        #expect(try Data(contentsOf: URL(fileURLWithPath: self.folder.path("index"))) == self.fixture(name))
        let own = GzipSource(
            FileSource(path: self.folder.path("data.gz")), index: .file(self.folder.path("own")))
        #expect(try own.importIndex(self.toolIndex(), BlobContext()))
        #expect(try own.info(BlobContext()).byteCount == Int64(bytes.count))
        #expect(outcome(of: own, at: 150_000, pieceByteCount: 65_536).bytes == bytes.dropFirst(150_000))
        #expect(try self.faults(own) == [])
    }

    @Test func anIndexOfOtherDataIsRefused() throws {
        for name in Self.ofText + ["blocks.gzi"] {
            let source = try self.source(name == "blocks.gzi" ? "text.gz" : "blocks.gz", indexed: name)
            if ["text.gzidx", "text.rapidgzip"].contains(name) {
                #expect(throws: BlobError.self) { () throws in try self.faults(source) }
            } else {
                #expect(try !self.faults(source).isEmpty)
            }
            let own = GzipSource(
                FileSource(path: self.folder.path("data.gz")), index: .file(self.folder.path("own")))
            let error = #expect(throws: BlobError.self) { () throws in
                try own.importIndex(self.toolIndex(), BlobContext())
            }
            #expect(error?.code == .inconsistent, "\(name)")
            #expect(!FileManager.default.fileExists(atPath: self.folder.path("own")))
        }
    }

    @Test func eachWrongPointAndWindowIsNamed() throws {
        let index = try self.fixture("text.gzidx")
        // The second point: its place, its decoded offset, its bits; and a byte of its window.
        for place in [35 + 18, 35 + 18 + 8, 35 + 18 + 16, 35 + 18 * 5 + 1000] {
            let changed = index.flipping(at: place)
            let faults = try self.faults(try self.source("text.gz", index: changed))
            #expect(faults.count == 1 && faults[0].hasPrefix("Point 1 (bit "), "\(faults)")
        }
    }

    /// Whatever the damage, it is an error or a fault, or is in bytes without a meaning; and reading is right.
    @Test func damagedIndexesGiveNoOtherBytes() throws {
        for (name, data, count) in [
            ("text.gzidx", "text.gz", 35 + 18 * 5), ("text.gztool", "text.gz", 80),
            ("text.gztool-lines", "text.gz", 80), ("blocks.gzi", "blocks.gz", 56),
        ] {
            let bytes = outcome(decoding: try self.fixture(data)).bytes.dropFirst(190_000).prefix(1000)
            let index = try self.fixture(name)
            for place in 0..<count {
                let changed = index.flipping(1 << UInt8(place % 8), at: place)
                for damaged in [changed, index.prefix(place)] {
                    let source = try self.source(data, index: damaged)
                    #expect(try Array(source.open(at: 190_000).bytes(atMost: 1000)) == Array(bytes), "\(name) \(place)")
                    guard place % 7 == 0 else { continue }
                    _ = try? self.faults(source)
                }
            }
        }
    }

    @Test func truncatedIndexesAreNone() throws {
        for name in Self.ofText {
            let index = try self.fixture(name)
            for count in Array(5..<min(index.count, 600)) + [index.count - 1] {
                _ = try self.source("text.gz", index: index.prefix(count))
                let file = try #require(IndexFile(.file(self.folder.path("index")), for: nil))
                // Too short to be told from anything else.
                if count < 15, name.contains("gztool") { continue }
                #expect(throws: BlobError.self, "\(name) \(count)") { () throws in _ = try file.toolIndex() }
            }
        }
    }

    @Test func absurdNumbersAreRefused() throws {
        func number<Number: FixedWidthInteger>(_ number: Number) -> Data { withUnsafeBytes(of: number) { Data($0) } }
        let head = Data("GZIDX".utf8) + [1, 0]
        func numbers(_ numbers: UInt64...) -> Data { numbers.reduce(Data()) { $0 + number($1) } }
        let many = head + numbers(185_467, 1 << 60) + number(UInt32.max) + number(UInt32(32_768))
        let count = number(UInt64(1 << 60).bigEndian)
        let indexes = [
            many + number(UInt32.max), many + number(UInt32(1)) + numbers(.max, .max) + Data([0, 0]),
            Data(count: 8) + Data("gzipindx".utf8) + count + count, numbers(1, .max, .max), numbers(2, 9, 9, 5, 5),
        ]
        for index in indexes {
            let source = try self.source("text.gz", index: index)
            let error = #expect(throws: BlobError.self) { () throws in try self.faults(source) }
            #expect(error?.code == .corrupted)
            #expect(outcome(of: source, at: 699_000).isWhole)
        }
        var long = number(UInt64(200_000))
        for place in 1...UInt64(200_000) { long += number(place * 100) + number(place * 300) }
        _ = try self.source("text.gz", index: long)
        let points = try self.toolIndex().points
        #expect(points.count > 20_000 && points.count <= 65_536)
        #expect(points.allSatisfy { $0.restartPoint.bitOffset / 8 * 3 == $0.restartPoint.byteOffset })
    }

    // MARK: Blocks that bgzip indexed

    /// The first block contains another member, and the index agrees with its length in the header and its trailer.
    @Test func anIndexThatTheHeadersConfirmGivesNoBytesOfAnotherPlace() throws {
        let parts = [
            Data(repeating: 65, count: 3000), Data(repeating: 66, count: 3000), Data(repeating: 67, count: 3000),
        ]
        let members = try parts.map { part in
            // The beginning of a header with the field BC, and the rest of a member.
            var member = try Self.gzip(part)
            member[3] = 4
            let length = member.count + 8 - 1
            let field = [6, 0, 66, 67, 2, 0, UInt8(length & 0xFF), UInt8(length >> 8)]
            member.insert(contentsOf: field, at: 10)
            return member
        }
        let spanning = members[0].count + members[1].count
        var data = Data(members.joined())
        (data[16], data[17]) = (UInt8((spanning - 1) & 0xFF), UInt8((spanning - 1) >> 8))
        let file = try self.folder.file("data.gz", data)
        let numbers: [UInt64] = [1, UInt64(spanning), 3000]
        try numbers.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: self.folder.path("index")))
        let found = outcome(
            of: GzipSource(file, index: .file(self.folder.path("index"))), at: 3000, pieceByteCount: 65_536)
        #expect(found.isWhole && found.bytes == parts[1] + parts[2])
    }

    /// Returns a gzip of one member with a header of ten bytes.
    private static func gzip(_ bytes: Data) throws -> [UInt8] {
        let found = outcome(of: GzipEncodedSource(MemorySource(bytes)))
        try #require(found.isWhole)
        return Array(found.bytes)
    }
}
