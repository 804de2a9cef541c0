import ArchiveSource
import BlobCore
import BlobDeflate
import BlobIndex
import BlobTestSupport
import GzipSource

/// Some slices are longer than what one of several threads decodes, and most are shorter.
let fuzzedIndexTuning = GzipTuning(
    pointSpacing: 32 * 1024, memberSpacing: 4 * 1024, batchByteCount: 100 * 1024)

/// Checks that a whole read of an intact gzip gives the right bytes whatever index is offered, and that a range does
/// when the restart points and the checksums are right.
func checkIndex(_ bytes: [UInt8]) throws {
    let content = FuzzContent.blocks
    let folder = try TemporaryFolder()
    let path = try folder.write(bytes, to: "index")
    let source = {
        GzipSource(content.source, format: .gzip, index: .file(path), library: .isal, tuning: fuzzedIndexTuning)
    }
    let whole = try Outcome(of: source(), pieceByteCount: 60_000)
    // An index that tells of another length is found out behind bytes that are right.
    try require(
        whole.bytes == content.bytes && whole.code == nil
            || whole.code == .changed && content.bytes.starts(with: whole.bytes),
        "a whole read gives \(whole.bytes.count) bytes and ends with \(whole.code as Any)")
    let hasTruePoints = IndexImage(bytes)?.payload(of: "PNTS", in: bytes) == content.truePoints
    var random = SplitMix64(seed: bytes.reduce(1) { $0 &* 31 &+ UInt64($1) })
    let opened = source()
    for source in [source(), opened, opened, opened] {
        let offset = Int.random(in: 0...content.bytes.count, using: &random)
        let count = [1, 5000, 200_000][Int(random.next() % 3)]
        let range = try Outcome(of: source, at: Int64(offset), pieceByteCount: 30_000, atMost: count)
        guard hasTruePoints else { continue }
        try require(range.agrees(with: content.bytes.dropFirst(offset)), "other bytes in the \(count) from \(offset)")
        let expected = min(count, content.bytes.count - offset)
        try require(
            range.code == nil && range.bytes.count == expected,
            "\(range.bytes.count) of \(expected) bytes from \(offset), \(range.code as Any)")
    }
    do {
        _ = try source().verifyIndex(BlobContext()) { _ in }
    } catch {
        try faultOfInput(error)
    }
    try require(folder.names == ["index"], "other files: \(folder.names)")
    try require(try folder.bytes("index") == bytes, "the file that the user named was changed")
}

/// Checks that a whole read of intact data in blocks gives the right bytes whatever index is offered, and that a range
/// does when the blocks are right.
func checkBlockIndex(_ bytes: [UInt8]) throws {
    guard let first = bytes.first else { return }
    let content = first % 2 == 0 ? FuzzContent.bzip2 : FuzzContent.zstd
    let index = Array(bytes.dropFirst())
    let folder = try TemporaryFolder()
    let path = try folder.write(index, to: "index")
    let source = { DecompressedSource(content.source, format: content.format, index: .file(path)) }
    let whole = try Outcome(of: source(), pieceByteCount: 60_000)
    try require(
        whole.isWhole && whole.bytes == content.bytes
            || whole.code == .changed && content.bytes.starts(with: whole.bytes),
        "a whole read gives \(whole.bytes.count) bytes and ends with \(whole.code as Any)")
    let hasTrueBlocks = IndexImage(index)?.payload(of: "BLKS", in: index) == content.trueBlocks
    var random = SplitMix64(seed: index.reduce(1) { $0 &* 31 &+ UInt64($1) })
    let opened = source()
    // Also the end that the index states, past which nothing is.
    let stated = (try? opened.info(BlobContext()))?.byteCount ?? 0
    for (source, offset) in [
        (source(), Int64.random(in: 0...Int64(content.bytes.count), using: &random)),
        (opened, Int64.random(in: 0...Int64(content.bytes.count), using: &random)), (opened, max(0, stated - 1)),
    ] {
        let range = try Outcome(of: source, at: offset, pieceByteCount: 30_000, atMost: 5000)
        guard hasTrueBlocks else { continue }
        let expected = content.bytes.dropFirst(Int(offset)).prefix(5000)
        try require(range.code == nil && range.bytes.elementsEqual(expected), "other bytes from \(offset)")
    }
    do {
        _ = try source().restartPoints(BlobContext())
        _ = try source().verifyIndex(BlobContext()) { _ in }
    } catch {
        try faultOfInput(error)
    }
    try require(folder.names == ["index"], "other files: \(folder.names)")
    try require(try folder.bytes("index") == index, "the file that the user named was changed")
}

/// Checks that the index of another tool never gives wrong bytes, and that what is imported from it is right.
func checkToolIndex(_ bytes: [UInt8]) throws {
    let isOfText = bytes.starts(with: "GZIDX".utf8) || bytes.dropFirst(8).starts(with: "gzipind".utf8)
    let content = isOfText ? FuzzContent.text : FuzzContent.bgzipBlocks
    let folder = try TemporaryFolder()
    let path = try folder.write(bytes, to: "index")
    let indexed = { (path: String) in
        GzipSource(content.source, format: .gzip, index: .file(path), library: .isal, tuning: fuzzedIndexTuning)
    }
    let source = indexed(path)
    var random = SplitMix64(seed: bytes.reduce(1) { $0 &* 31 &+ UInt64($1) })
    for time in 0..<3 {
        let offset = time == 0 ? 0 : Int.random(in: 0...content.bytes.count, using: &random)
        let outcome = try Outcome(of: source, at: Int64(offset), pieceByteCount: 60_000)
        try require(
            outcome.isWhole && outcome.bytes == Array(content.bytes.dropFirst(offset)),
            "\(outcome.bytes.count) bytes from \(offset) end with \(outcome.code as Any)")
    }
    let own = indexed(folder.path("own"))
    do {
        _ = try source.verifyIndex(BlobContext()) { _ in }
        if let other = try IndexFile(.file(path), for: nil)?.toolIndex(),
            try own.importIndex(other, BlobContext())
        {
            try require(folder.names == ["index", "own"], "other files: \(folder.names)")
            let rest = try Outcome(of: own, at: 100_000, pieceByteCount: 60_000)
            try require(
                rest.isWhole && rest.bytes == Array(content.bytes.dropFirst(100_000)),
                "other bytes by what was imported")
        }
    } catch let error as FuzzFailure {
        throw error
    } catch {
        try faultOfInput(error)
        try require(folder.names == ["index"], "other files: \(folder.names)")
    }
    try require(try folder.bytes("index") == bytes, "the file that the user named was changed")
}

/// Checks that the members of an intact archive have the right bytes whatever table of them is offered.
func checkTable(_ bytes: [UInt8]) throws {
    guard let first = bytes.first else { return }
    let content = first % 2 == 0 ? FuzzContent.tar : FuzzContent.zip
    let index = Array(bytes.dropFirst())
    let folder = try TemporaryFolder()
    let path = try folder.write(index, to: "index")
    let archive = { BlobArchive(content.source, format: content.format, index: .file(path)) }
    let hasTrueTable = IndexImage(index)?.payload(of: "MEMB", in: index) == content.trueTable
    let listing = try Listing(archive())
    if hasTrueTable {
        try require(listing.code == nil && listing.members == content.members, "another listing")
    }
    var random = SplitMix64(seed: index.reduce(1) { $0 &* 31 &+ UInt64($1) })
    let opened = archive()
    for archive in [archive(), opened, opened, opened] {
        let member = Int.random(in: 0..<content.members.count, using: &random)
        let named = try memberOutcome(archive, .name(content.members[member].name))
        let (truth, name) = (content.contents[member], content.members[member].name)
        if named.isWhole { try require(named == truth, "other bytes of \(String(decoding: name, as: UTF8.self))") }
        if hasTrueTable { try require(named == truth, "member \(member) by name: \(named.code as Any)") }
        let indexed = try memberOutcome(archive, .index(member))
        // A forged table can give the index of a member to another one.
        if indexed.isWhole { try require(content.contents.contains(indexed), "bytes of no member at \(member)") }
        if hasTrueTable { try require(indexed == truth, "member \(member): \(indexed.code as Any)") }
    }
    try require(try folder.bytes("index") == index, "the file that the user named was changed")
}
