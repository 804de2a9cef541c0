#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// The digests of blocks: damage is found wherever reading begins and ends.
@Suite struct BlockTests {
    private let test: TestLibrary
    private let block = Int64(BlockDigests.blockByteCount)
    /// Three whole blocks and a part of one.
    private let bytes = makeContent(3 * BlockDigests.blockByteCount + 777)

    init() throws { self.test = try TestLibrary() }

    /// The bytes of a range; throws what reading them throws.
    private func read(_ asset: Asset, from byteOffset: Int64, count: Int, inPiecesOf piece: Int) throws -> [UInt8] {
        let reader = try self.test.library.source(for: asset.id).open(at: byteOffset)
        defer { reader.close() }
        var bytes: [UInt8] = []
        while bytes.count < count {
            let next = try BlobTestSupport.read(reader, upTo: min(piece, count - bytes.count))
            guard !next.isEmpty else { break }
            bytes += next
        }
        return bytes
    }

    @Test(arguments: [1000, BlockDigests.blockByteCount, 5 << 20])
    func fourRottenBytesAreFoundInEveryRangeThatTouchesTheirBlock(piece: Int) throws {
        let asset = try self.test.add(self.bytes)
        let count = Int64(self.bytes.count)
        let path = try self.test.originalPath(of: asset)
        for rotten in [0, self.block - 2, 2 * self.block + 7, count - 4] {
            try overwrite(path, at: rotten, with: [0xDE, 0xAD, 0xBE, 0xEF])
            let damaged = [rotten, rotten + 3].map { $0 / self.block * self.block }
            for (start, end) in [
                (0, count), (1, count), (0, count - 1), (rotten, rotten + 1), (rotten + 3, rotten + 4),
                (min(rotten + 4, count - 1), count), (0, self.block), (self.block, 2 * self.block), (count - 1, count),
            ] where start < end {
                let firstBlock = start / self.block * self.block
                let touched = damaged.filter { $0 >= firstBlock && $0 < end }.min()
                do {
                    let got = try self.read(asset, from: start, count: Int(end - start), inPiecesOf: piece)
                    #expect(touched == nil, "\(start)..<\(end) with damage at \(rotten)")
                    let isEqual = got == Array(self.bytes[Int(start)..<Int(end)])
                    #expect(isEqual)
                } catch {
                    let error = BlobError(wrapping: error)
                    #expect(error.code == .checksumMismatch && error.byteOffset == touched, "\(error)")
                }
            }
            try overwrite(path, at: rotten, with: Array(self.bytes[Int(rotten)..<Int(rotten) + 4]))
        }
    }

    @Test func aRewriteWithTheTimePutBackIsFound() throws {
        let asset = try self.test.add(self.bytes)
        let path = try self.test.originalPath(of: asset)
        for start in [0, 1000, self.block, 2 * self.block + 1] {
            let reader = try self.test.library.source(for: asset.id).open(at: start)
            let first = try BlobTestSupport.read(reader, upTo: 1000)
            #expect(first == Array(self.bytes[Int(start)..<Int(start) + 1000]))
            try self.rewrite(path, [UInt8](repeating: 7, count: self.bytes.count))
            let got = ReadingOutcome(reader, after: first, inPiecesOf: 1000)
            #expect(got.code == .checksumMismatch)
            let isPrefix = self.bytes[Int(start)...].starts(with: got.bytes)
            #expect(isPrefix && Int(start) + got.bytes.count < self.bytes.count)
            // And when it was rewritten before.
            #expect(
                codeThrown { try self.read(asset, from: start, count: 10, inPiecesOf: 10) } == .checksumMismatch)
            try self.rewrite(path, self.bytes)
        }
    }

    /// Writes over a file in place, and puts its modification time back.
    private func rewrite(_ path: String, _ bytes: [UInt8]) throws {
        let then = try FileStatus(ofFileAt: Array(path.utf8)).modificationTime
        try overwrite(path, at: 0, with: bytes)
        let time = timespec(tv_sec: time_t(then / 1_000_000_000), tv_nsec: Int(then % 1_000_000_000))
        try #require(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
    }
}
#endif
