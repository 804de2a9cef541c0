import BlobCore
import BlobDeflate
import BlobTestSupport
import GzipSource

/// Checks that the bytes and the error depend neither on the pieces in which the data come and go, nor on the library.
func checkFraming(_ bytes: [UInt8]) throws {
    guard let first = bytes.first else { return }
    let format = GzipSource.Format.allCases[Int(first % 3)]
    let data = Array(bytes.dropFirst())
    func outcome(_ base: any BlobInputStreamDataSource, _ library: InflateLibrary, piece: Int) throws -> Outcome {
        let source = GzipSource(base, format: format, index: .none, library: library, tuning: smallTuning)
        return try Outcome(of: source, pieceByteCount: piece)
    }
    let whole = try outcome(MemorySource(data), .isal, piece: 4096)
    let pieces = PieceSizes(first)
    for library in [InflateLibrary.isal, .zlib] {
        let other = try outcome(source(of: data, inPiecesOf: pieces.input), library, piece: pieces.output)
        try require(other.isCut == whole.isCut, "\(format): of pieces \(pieces), \(library) is cut elsewhere")
        try require(other.agrees(with: whole.bytes), "\(format): in pieces \(pieces), \(library) gives other bytes")
        // ISA-L decodes with sets of codes that zlib refuses, incomplete ones, and finds some damage where zlib waits
        // for more data.
        let isFoundEarlier = whole.code == .corrupted && other.code == .truncated
        if library == .zlib, other.code == .corrupted || isFoundEarlier { continue }
        try require(other.code == whole.code, "\(format): \(library) says \(text(other)), not \(text(whole))")
        if whole.isWhole { try require(other == whole, "\(format): in pieces \(pieces), \(library) ends elsewhere") }
    }
    if format == .gzip {
        do {
            _ = try GzipSource(MemorySource(data)).facts(BlobContext())
        } catch {
            try faultOfInput(error)
        }
    }
}

private func text(_ outcome: Outcome) -> String {
    "\(outcome.code.map { "\($0)" } ?? "the end") after \(outcome.bytes.count) bytes"
}

/// The sizes of the pieces in which compressed bytes come, and decoded ones go.
private struct PieceSizes: CustomStringConvertible {
    let (input, output): (Int, Int)

    init(_ byte: UInt8) {
        self.input = [1, 2, 3, 7, 64, 700][Int(byte / 3) % 6]
        self.output = [1, 2, 61, 4096][Int(byte / 18) % 4]
    }

    var description: String { "\(self.input)/\(self.output)" }
}

/// A source with random access that gives few bytes at a time.
private func source(of bytes: [UInt8], inPiecesOf count: Int) -> any BlobInputStreamDataSource {
    ClosureSource(info: BlobInfo(byteCount: Int64(bytes.count), validator: .strong("fuzz"))) { offset, output, _ in
        for byte in bytes.dropFirst(Int(offset)).prefix(min(count, output.freeCapacity)) { output.append(byte) }
    }
}

/// Points so near to one another that an input of a few kilobytes has some.
let smallTuning = GzipTuning(pointSpacing: 1024, memberSpacing: 256, batchByteCount: 4096)
