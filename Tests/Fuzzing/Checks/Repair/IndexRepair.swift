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
