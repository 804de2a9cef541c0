import BlobCore
import BlobDeflate
import BlobTestSupport
import GzipSource

/// Checks that a gzip is the same as zlib has it: read whole, from an offset, in ranges, and with an index.
func checkGzip(_ bytes: [UInt8]) throws {
    var truth = ZlibDecoded(gzip: bytes, atMost: Outcome.maximumByteCount / 4)
    guard !truth.isCut else { return }
    let base = MemorySource(bytes, validator: .strong("fuzz"))
    let byLibrary = { library in
        try Outcome(of: GzipSource(base, format: .gzip, index: .none, library: library, tuning: smallTuning))
    }
    let (whole, byZlib) = (try byLibrary(.isal), try byLibrary(.zlib))
    try compare(byZlib, truth, from: 0, "whole by zlib")
    if byZlib.code == .corrupted, whole.isWhole {
        // ISA-L decodes with sets of codes that zlib refuses: incomplete ones.
        try require(whole.agrees(with: truth.bytes), "whole by ISA-L: other bytes than zlib's before its error")
        (truth.bytes, truth.isWhole) = (whole.bytes, true)
    }
    try compare(whole, truth, from: 0, "whole by ISA-L")
    var random = SplitMix64(seed: bytes.reduce(1) { $0 &* 31 &+ UInt64($1) })
    let plain = { GzipSource(base, format: .gzip, index: .none, library: .isal, tuning: smallTuning) }
    try checkOffsets(truth, "by offset", using: &random, plain)
    // One source for all, which learns where blocks begin.
    let learned = plain()
    _ = try Outcome(of: learned)
    try checkOffsets(truth, "by offset again", using: &random) { learned }
    try checkRanges(truth, "by ranges", using: &random) { learned }
    let folder = try TemporaryFolder()
    let indexed = {
        GzipSource(base, format: .gzip, index: .file(folder.path("index")), library: .isal, tuning: smallTuning)
    }
    do {
        let isBuilt = try indexed().buildIndex(BlobContext())
        try require(isBuilt == truth.isWhole, "an index was \(isBuilt ? "" : "not ")built")
    } catch let error as BlobError {
        let code = try faultOfInput(error)
        try require(!truth.isWhole, "the index of a whole gzip: \(code)")
    }
    try compare(try Outcome(of: indexed(), pieceByteCount: 61), truth, from: 0, "whole by index")
    if truth.isWhole {
        let byteCount = try indexed().info().byteCount
        try require(byteCount == Int64(truth.bytes.count), "the index has the length \(byteCount ?? -1)")
    }
    try checkOffsets(truth, "by index", using: &random, indexed)
    let opened = indexed()
    try checkRanges(truth, "by ranges and index", using: &random) { opened }
}

private func checkOffsets(
    _ truth: ZlibDecoded, _ way: String, using random: inout SplitMix64, _ source: () -> GzipSource
) throws {
    let count = truth.bytes.count
    for offset in [1, count / 2, count, count + 1, Int.random(in: 0...count, using: &random)] {
        try compare(try Outcome(of: source(), at: Int64(offset)), truth, from: offset, way)
    }
}

private func checkRanges(
    _ truth: ZlibDecoded, _ way: String, using random: inout SplitMix64, _ source: () -> GzipSource
) throws {
    for _ in 0..<4 {
        let offset = Int.random(in: 0...truth.bytes.count, using: &random)
        let count = Int.random(in: 1...3000, using: &random)
        let outcome = try Outcome(of: source(), at: Int64(offset), atMost: count)
        try require(
            outcome.agrees(with: truth.bytes.dropFirst(offset)), "\(way): other bytes in the \(count) from \(offset)")
        if truth.isWhole {
            let expected = min(count, truth.bytes.count - offset)
            try require(
                outcome.bytes.count == expected, "\(way): \(outcome.bytes.count) of \(expected) bytes from \(offset)")
        }
    }
}

/// Compares what was read to the end with what zlib has.
private func compare(_ outcome: Outcome, _ truth: ZlibDecoded, from offset: Int, _ way: String) throws {
    let rest = truth.bytes.dropFirst(offset)
    try require(outcome.agrees(with: rest), "\(way): other bytes from \(offset)")
    let isWhole = truth.isWhole && offset <= truth.bytes.count
    try require(
        outcome.isWhole == isWhole, "\(way) from \(offset): \(outcome.code.map { "\($0)" } ?? "the end"), unlike zlib")
    if isWhole { try require(outcome.bytes.count == rest.count, "\(way) from \(offset): \(outcome.bytes.count) bytes") }
}
