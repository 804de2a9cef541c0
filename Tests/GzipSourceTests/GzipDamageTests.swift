import BlobDeflate
import BlobStreams
import Foundation
import GzipSource
import Testing

/// Never wrong bytes with a clean end.
@Suite struct GzipDamageTests {
    static let bytes = sampleBytes(700)

    struct Fixture: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let format: GzipSource.Format
        let file: Data
        let bytes: Data
        /// Where the file may end, besides its end, with the bytes so far as a whole.
        var memberEnds: [Int: Data] = [:]
    }

    static let fixtures: [Fixture] = {
        let first = GzipMember(
            bytes: bytes, extra: Data([1, 2, 3]), name: "name", comment: "comment", hasHeaderChecksum: true
        ).encoded
        let second = GzipMember(bytes: Data("second".utf8), level: 0, name: "n").encoded
        let empty = gzipped(Data())
        return [
            Fixture(testDescription: "all fields", format: .gzip, file: first, bytes: bytes),
            Fixture(testDescription: "stored", format: .gzip, file: gzipped(bytes, level: 0), bytes: bytes),
            Fixture(testDescription: "empty", format: .gzip, file: empty, bytes: Data()),
            Fixture(
                testDescription: "members", format: .gzip, file: first + empty + second,
                bytes: bytes + Data("second".utf8),
                memberEnds: [first.count: bytes, first.count + empty.count: bytes]),
            Fixture(testDescription: "zlib", format: .zlib, file: zlibbed(bytes), bytes: bytes),
            Fixture(testDescription: "stored zlib", format: .zlib, file: zlibbed(bytes, level: 0), bytes: bytes),
        ]
    }()

    @Test(arguments: fixtures, InflateLibrary.available)
    func everyTruncationIsAnErrorAfterAPrefix(_ fixture: Fixture, library: InflateLibrary) {
        self.expectTruncations(fixture, library)
    }

    @Test(arguments: InflateLibrary.available)
    func everyTruncationOfDeflateIsAnErrorAfterAPrefix(library: InflateLibrary) {
        for level in [0, 1, 9] as [CInt] {
            let file = deflated(Self.bytes, level: level)
            self.expectTruncations(
                Fixture(testDescription: "deflate", format: .deflate, file: file, bytes: Self.bytes), library)
        }
    }

    private func expectTruncations(_ fixture: Fixture, _ library: InflateLibrary) {
        for count in 0..<fixture.file.count {
            let outcome = outcome(
                decoding: fixture.file.prefix(count), fixture.format, pieceByteCount: 100, library: library)
            if let whole = fixture.memberEnds[count] {
                #expect(outcome.isWhole && outcome.bytes == whole)
            } else {
                #expect(outcome.error?.code == .truncated, "\(count) bytes of \(fixture.testDescription)")
                #expect(outcome.error?.byteOffset == Int64(count))
                #expect(fixture.bytes.starts(with: outcome.bytes))
            }
        }
    }

    @Test(arguments: fixtures, InflateLibrary.available)
    func everyFlippedBitIsAnErrorOrHarmless(_ fixture: Fixture, library: InflateLibrary) {
        var harmlessCount = 0
        for bit in 0..<(fixture.file.count * 8) {
            var file = fixture.file
            file[file.startIndex + bit / 8] ^= 1 << (bit % 8)
            let outcome = outcome(decoding: file, fixture.format, pieceByteCount: 1000, library: library)
            guard outcome.isWhole else { continue }
            harmlessCount += 1
            #expect(outcome.bytes == fixture.bytes, "bit \(bit) of \(fixture.testDescription)")
        }
        // Fields that mean nothing here (49 bits a header: FTEXT, MTIME, XFL, OS), names, padding of the last block.
        #expect(harmlessCount <= 160)
    }

    @Test func randomDamageIsAnErrorOrHarmless() {
        let seed = UInt64.random(in: 1...1_000_000)
        var state = seed
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for round in 0..<300 {
            // Nothing shows that a whole member was removed, so that most members are longer than what is removed.
            let bytes = sampleBytes(1000 + next(20_000), seed: seed + UInt64(round))
            var file = gzipped(bytes.prefix(next(bytes.count)), level: CInt(next(10)))
            file += gzipped(bytes.dropFirst(outcome(decoding: file).bytes.count), level: CInt(next(10)))
            #expect(outcome(decoding: file, pieceByteCount: 1 + next(9000)).bytes == bytes, "seed \(seed)")
            for _ in 0...next(3) {
                let place = file.startIndex + next(file.count)
                switch next(3) {
                case 0: file[place] = UInt8(next(256))
                case 1: file.removeSubrange(place..<min(file.endIndex, place + 1 + next(50)))
                default: file.insert(contentsOf: sampleBytes(1 + next(50), seed: state), at: place)
                }
                guard !file.isEmpty else { break }
            }
            let outcome = outcome(decoding: file, pieceByteCount: 1 + next(9000))
            #expect(!outcome.isWhole || outcome.bytes == bytes, "seed \(seed), round \(round)")
        }
    }
}
