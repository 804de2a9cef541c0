import BlobDeflate
import BlobTestSupport

/// Damages some places at once, now and then, and corrects the checksums of an index file: of the windows, of the
/// sections, of the table, of the foot and of the head.
///
/// - Parameter start: The offset of the file in `bytes`.
func repairIndex(_ bytes: inout [UInt8], from start: Int, using random: inout SplitMix64) {
    guard let image = IndexImage(bytes, from: start) else { return }
    if random.next() % 3 == 0, let section = image.sections.randomElement(using: &random), !section.payload.isEmpty {
        let from = Int.random(in: section.payload, using: &random)
        let to = min(from + Int.random(in: 1...2000, using: &random), section.payload.upperBound)
        for index in from..<to { bytes[index] = 0 }
    }
    if random.next() % 2 == 0 { repairWindows(&bytes, image) }
    for section in image.sections {
        bytes.set(sum(bytes[section.payload]), at: section.checksumOffset, count: 4)
    }
    let foot = image.table.upperBound
    bytes.set(bytes.count - start, at: foot, count: 8)
    bytes.set(sum(bytes[image.table]), at: foot + 12, count: 4)
    bytes.set(sum(bytes[foot..<(foot + 16)]), at: foot + 16, count: 4)
    bytes.set(sum(bytes[start..<(start + 12)]), at: start + 12, count: 4)
}

/// Corrects the checksums of packed windows, which are among the restart points.
private func repairWindows(_ bytes: inout [UInt8], _ image: IndexImage) {
    guard let points = image.sections.first(where: { $0.kind == "PNTS" })?.payload,
        let windows = image.sections.first(where: { $0.kind == "WNDW" })?.payload
    else { return }
    var cursor = VarintCursor(bytes, points)
    // Version, compressed length, decoded length and number of members.
    for _ in 0..<4 where cursor.varint() == nil { return }
    guard let count = cursor.varint() else { return }
    var start = windows.lowerBound
    for _ in 0..<min(count, points.count) {
        guard cursor.varint() != nil, cursor.varint() != nil, let byteCount = cursor.varint() else { return }
        guard byteCount > 0 else { continue }
        guard let place = cursor.skip(4), byteCount <= windows.upperBound - start else { return }
        bytes.set(sum(bytes[start..<(start + byteCount)]), at: place, count: 4)
        start += byteCount
    }
}

private func sum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    var sum = CRC32()
    bytes.withUnsafeBytes { sum.update($0) }
    return sum.value
}

/// The places in an index file at which its checksums are, as the article IndexFiles in the documentation has them.
struct IndexImage {
    struct Section {
        let kind: String
        let payload: Range<Int>
        let checksumOffset: Int
    }

    static let footByteCount = 20

    private(set) var sections: [Section] = []
    let table: Range<Int>

    /// Parses a file whose checksums need not be right; nil when its table cannot be found.
    ///
    /// - Parameter start: The offset of the file in `bytes`.
    init?(_ bytes: [UInt8], from start: Int = 0) {
        let foot = bytes.count - Self.footByteCount
        guard foot >= start + 16, let tableByteCount = bytes.number(at: foot + 8, count: 4),
            tableByteCount <= foot - start - 16
        else { return nil }
        self.table = (foot - tableByteCount)..<foot
        var cursor = VarintCursor(bytes, self.table)
        guard cursor.skipText(), let count = cursor.varint(), count <= 256 else { return nil }
        for _ in 0..<count {
            guard cursor.skipText(), let kind = cursor.skip(4), cursor.skip(4 + 8) != nil, cursor.skipText(),
                cursor.skip(8 + 4) != nil, let place = cursor.skip(8 + 8 + 4),
                let offset = bytes.number(at: place, count: 8), let byteCount = bytes.number(at: place + 8, count: 8)
            else { return }
            let begin = min(start + min(offset, bytes.count), self.table.lowerBound)
            self.sections.append(
                Section(
                    kind: String(decoding: bytes[kind..<(kind + 4)], as: UTF8.self),
                    payload: begin..<(begin + min(byteCount, self.table.lowerBound - begin)),
                    checksumOffset: place + 16))
        }
    }

    /// Returns the payload of the section of a kind; nil unless there is one such section.
    func payload(of kind: String, in bytes: [UInt8]) -> [UInt8]? {
        let sections = self.sections.filter { $0.kind == kind }
        return sections.count == 1 ? sections.first.map { Array(bytes[$0.payload]) } : nil
    }
}

/// A parser of varints and texts, which ends quietly.
struct VarintCursor {
    private let bytes: [UInt8]
    private let end: Int
    private(set) var offset: Int

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        (self.bytes, self.offset, self.end) = (bytes, range.lowerBound, range.upperBound)
    }

    mutating func varint() -> Int? {
        var (number, shift) = (0, 0)
        while self.offset < self.end, shift < 56 {
            let byte = Int(self.bytes[self.offset])
            self.offset += 1
            number |= (byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
        return nil
    }

    /// Passes over bytes; returns where they begin, or nil when there are fewer.
    mutating func skip(_ count: Int) -> Int? {
        guard count <= self.end - self.offset else { return nil }
        defer { self.offset += count }
        return self.offset
    }

    mutating func skipText() -> Bool { self.varint().flatMap { self.skip($0) } != nil }
}
