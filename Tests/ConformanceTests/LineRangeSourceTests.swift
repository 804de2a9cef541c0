import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

/// Lines by the range in which they begin: each once, wherever the ranges are cut.
@Suite struct LineRangeSourceTests {
    private static let texts = [
        "", "\n", "\n\n\n", "a", "a\n", "a\nb", "one\ntwo\n\nthree", "\nfirst is empty", "cr\r\nlf\r\n", "no end\r",
        "é\nü\n",
        String(repeating: "long", count: 20) + "\nshort\n" + String(repeating: "x", count: 30),
    ]

    private static func lines(
        of base: any BlobInputStreamDataSource, in range: Range<Int64>
    ) throws -> [UInt8] {
        let reader = try LineRangeSource(base, beginningIn: range).open()
        defer { reader.close() }
        return try readAll(reader)
    }

    /// Returns the lines that begin in a range, by the definition.
    private static func expected(_ text: [UInt8], in range: Range<Int64>) -> [UInt8] {
        var start = 0
        var lines: [UInt8] = []
        while start < text.count {
            let end = text[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? text.count
            if range.contains(Int64(start)) { lines += text[start..<end] }
            start = end
        }
        return lines
    }

    @Test(arguments: texts) func everyRangeHasTheLinesThatBeginInIt(text: String) async throws {
        let bytes = Array(text.utf8)
        try await onThread {
            for pieceByteCount in [1, 3, 1000] {
                let base = DripSource(MemorySource(Data(bytes)), pieceByteCount: pieceByteCount)
                for start in 0...bytes.count {
                    for end in start...(bytes.count + 2) {
                        let range = Int64(start)..<Int64(end)
                        let lines = try Self.lines(of: base, in: range)
                        #expect(lines == Self.expected(bytes, in: range), "\(range)")
                    }
                    let rest = Int64(start)..<Int64.max
                    let lines = try Self.lines(of: base, in: rest)
                    #expect(lines == Self.expected(bytes, in: rest), "\(rest)")
                }
            }
        }
    }

    /// Lines that are longer than the search reads at a time, and than a range.
    @Test func linesOfAnyLengthAreFound() async throws {
        var numbers = SystemRandomNumberGenerator()
        let text = (0..<40).flatMap { number -> [UInt8] in
            let count = Int.random(in: 0...(number % 4 == 0 ? 300_000 : 200), using: &numbers)
            return [UInt8](repeating: UInt8(ascii: "a") + UInt8(number % 26), count: count) + [UInt8(ascii: "\n")]
        }
        let base = MemorySource(Data(text))
        try await onThread {
            for partCount in [2, 7, 31, 200] {
                let cuts = (0..<partCount).map { _ in Int64.random(in: 0...Int64(text.count)) }.sorted()
                let bounds = [0] + cuts + [Int64(text.count)]
                let parts = try zip(bounds, bounds.dropFirst()).map { try Self.lines(of: base, in: $0..<$1) }
                #expect(Array(parts.joined()) == text, "\(cuts)")
            }
        }
    }

    /// Nothing behind the last line is read, but what came with it.
    @Test func itReadsNoFurtherThanTheLastLine() async throws {
        let text = Data("one\ntwo\nthree\n".utf8)
        try await onThread {
            // The fault is behind the second line.
            let base = FlakySource(DripSource(MemorySource(text), pieceByteCount: 1), failingAfter: 9)
            let lines = try Self.lines(of: base, in: 0..<5)
            #expect(lines == Array("one\ntwo\n".utf8))
            #expect(codeThrown { try Self.lines(of: base, in: 0..<9) } != nil)
        }
    }

    @Test func aClosedReaderThrows() async throws {
        let source = LineRangeSource(MemorySource(Data("a\nb\n".utf8)), beginningIn: 0..<2)
        try await onThread {
            let reader = try source.open()
            _ = try readAll(reader)
            reader.close()
            #expect(codeThrown { try read(reader, upTo: 1) } == .closed)
        }
    }
}
