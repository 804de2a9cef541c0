import BlobCore
import BlobTestSupport
import Testing

@testable import BlobTransfer

/// The comparison of ranges in any order with stated digests.
@Suite struct DigestCoverageTests {
    private static let content = makeContent(20_000)

    private static func digest(_ algorithm: StatedAlgorithm, _ bytes: some Collection<UInt8>) -> BlobStatedDigest {
        var hasher = algorithm.makeHasher()
        Array(bytes).withUnsafeBytes { hasher?.update($0) }
        return BlobStatedDigest(algorithm.rawValue, hasher?.finalize() ?? [], origin: "test")
    }

    private static func coverage(of ends: [Int], _ algorithm: StatedAlgorithm) -> DigestCoverage {
        DigestCoverage(
            zip([0] + ends, ends).map { start, end in
                StatedRange(Int64(start), Int64(end), [self.digest(algorithm, self.content[start..<end])])
            })
    }

    /// A pass over a range, in pieces.
    private struct Pass {
        var rest: Range<Int>
        var checks: [StatedDigestCheck]
        var proven: (end: Int64, by: String?) = (0, nil)

        init(_ range: Range<Int>, _ coverage: DigestCoverage) {
            (self.rest, self.checks) = (range, coverage.begin(at: Int64(range.lowerBound)))
        }

        /// Returns what was compared once all was read.
        mutating func advance(_ count: Int, in bytes: [UInt8], _ coverage: DigestCoverage) throws -> String?? {
            let piece = self.rest.prefix(count)
            self.rest = piece.upperBound..<self.rest.upperBound
            return try bytes[piece].withUnsafeBytes {
                try coverage.pass($0, at: Int64(piece.lowerBound), &self.checks, &self.proven)
            }
        }
    }

    /// Reads ranges that overlap until all bytes were read, four passes at a time; returns what was compared, each time.
    private static func read(_ bytes: [UInt8], _ coverage: DigestCoverage, seed: UInt64) throws -> [String?] {
        var (random, unread) = (SplitMix64(seed: seed), Set(bytes.indices))
        var (passes, outcomes): ([Pass], [String?]) = ([], [])
        while !unread.isEmpty || !passes.isEmpty {
            if passes.count < 4, let start = unread.randomElement(using: &random) {
                let start = Int.random(in: max(0, start - 3000)...start, using: &random)
                let end = min(bytes.count, start + Int.random(in: 1...6000, using: &random))
                passes.append(Pass(start..<end, coverage))
                unread.subtract(start..<end)
            }
            let index = Int.random(in: passes.indices, using: &random)
            let count = Int.random(in: 1...2000, using: &random)
            if let outcome = try passes[index].advance(count, in: bytes, coverage) { outcomes.append(outcome) }
            if passes[index].rest.isEmpty { passes.remove(at: index).checks.forEach(coverage.keep) }
        }
        return outcomes
    }

    @Test(arguments: [StatedAlgorithm.crc32, .crc32c, .crc64nvme], [[20_000], [1, 7000, 13_000, 20_000]])
    func rangesInAnyOrderAreCompared(algorithm: StatedAlgorithm, ends: [Int]) throws {
        for seed in 0..<50 as Range<UInt64> {
            let outcomes = try Self.read(Self.content, Self.coverage(of: ends, algorithm), seed: seed)
            // More than once if what was read twice is all of it.
            #expect(!outcomes.isEmpty && !outcomes.contains(nil), "\(seed)")
            var wrong = Self.content
            wrong[Int(seed * 397) % wrong.count] ^= 16
            let coverage = Self.coverage(of: ends, algorithm)
            #expect(codeThrown { try Self.read(wrong, coverage, seed: seed) } == .checksumMismatch, "\(seed)")
        }
    }

    /// The end of one range is the beginning of the next: then any digest can be compared.
    @Test(arguments: [StatedAlgorithm.sha256, .md5], [[20_000], [1, 7000, 13_000, 20_000]])
    func otherDigestsNeedTheOrder(algorithm: StatedAlgorithm, ends: [Int]) throws {
        func read(_ ranges: [Range<Int>], _ bytes: [UInt8]) throws -> [String?] {
            let coverage = Self.coverage(of: ends, algorithm)
            return try ranges.compactMap { range in
                var pass = Pass(range, coverage)
                let outcome = try pass.advance(range.count, in: bytes, coverage)
                pass.checks.forEach(coverage.keep)
                return outcome
            }
        }
        let ranges = [0..<500, 500..<8000, 8000..<20_000]
        #expect(try read(ranges, Self.content) == ["\(algorithm.title) (test)"])
        #expect(try read(ranges.reversed(), Self.content) == [nil])
        for place in [0, 6999, 19_999] {
            var wrong = Self.content
            wrong[place] ^= 1
            #expect(codeThrown { try read(ranges, wrong) } == .checksumMismatch)
        }
    }

    /// At most 16,384 runs are kept; then nothing is compared, and nothing wrong is reported.
    @Test func thereAreNoMoreRunsThanTheLimit() throws {
        let bytes = makeContent(33_000)
        let coverage = DigestCoverage([StatedRange(0, 33_000, [Self.digest(.crc32, bytes)])])
        var outcomes: [String?] = []
        for place in Array(stride(from: 1, to: 33_000, by: 2)) + Array(stride(from: 2, to: 33_000, by: 2)) + [0] {
            var pass = Pass(place..<place + 1, coverage)
            if let outcome = try pass.advance(1, in: bytes, coverage) { outcomes.append(outcome) }
        }
        #expect(outcomes.isEmpty)
    }
}
