import BlobDeflate
import BlobTestSupport
import CZlib

/// The largest number of decoded bytes whose checksum a mutator computes.
private let maximumDecodedByteCount = 1 << 20

/// Corrects the trailers of a format that the first byte selects.
func repairFraming(_ bytes: inout [UInt8], using random: inout SplitMix64) {
    guard let first = bytes.first else { return }
    var data = Array(bytes.dropFirst())
    switch first % 3 {
    case 0: repairGzip(&data, using: &random)
    case 1: repairZlib(&data)
    default: break
    }
    bytes = [first] + data
}

/// Corrects the check bits and the Adler-32 of a zlib stream.
private func repairZlib(_ bytes: inout [UInt8]) {
    guard bytes.count > 2 else { return }
    // RFC 1950, section 2.2: the two bytes are a multiple of 31.
    bytes[1] = bytes[1] & 0xE0
    bytes[1] += UInt8((31 - (Int(bytes[0]) << 8 | Int(bytes[1])) % 31) % 31)
    let decoded = ZlibDecoded(bytes.dropFirst(2), windowBits: -15, atMost: maximumDecodedByteCount)
    guard decoded.isWhole else { return }
    let end = 2 + decoded.consumedCount
    bytes += [UInt8](repeating: 0, count: max(0, end + 4 - bytes.count))
    let sum = UInt32(truncatingIfNeeded: adler32_z(1, decoded.bytes, decoded.bytes.count))
    bytes.set(sum.byteSwapped, at: end, count: 4)
}

/// Corrects the trailers of all members up to the first whose data are broken, and makes the lengths of some blocks of
/// BGZF right, and others those of two members.
func repairGzip(_ bytes: inout [UInt8], using random: inout SplitMix64) {
    var members: [Range<Int>] = []
    var start = 0
    while members.count < 64, let dataStart = endOfHeader(bytes, at: start) {
        let decoded = ZlibDecoded(bytes[dataStart...], windowBits: -15, atMost: maximumDecodedByteCount)
        guard decoded.isWhole else { break }
        let end = dataStart + decoded.consumedCount
        bytes += [UInt8](repeating: 0, count: max(0, end + 8 - bytes.count))
        var sum = CRC32()
        decoded.bytes.withUnsafeBytes { sum.update($0) }
        bytes.set(sum.value, at: end, count: 4)
        bytes.set(decoded.bytes.count, at: end + 4, count: 4)
        members.append(start..<(end + 8))
        start = end + 8
    }
    for (index, member) in members.enumerated() {
        // SAM, section 4.1: the subfield `BC` has the length of the member less one.
        if bytes[member].dropFirst(12).starts(with: [0x42, 0x43, 2, 0]) {
            switch random.next() % 4 {
            case 0: break
            case 1:
                let end = members[min(index + 1, members.count - 1)].upperBound
                bytes.set(end - member.lowerBound - 1, at: member.lowerBound + 16, count: 2)
            default: bytes.set(member.count - 1, at: member.lowerBound + 16, count: 2)
            }
        }
        repairHeader(&bytes, at: member.lowerBound)
    }
}

/// Corrects the checksum of a header, if it has one.
private func repairHeader(_ bytes: inout [UInt8], at start: Int) {
    guard bytes[start + 3] & 2 != 0, let end = endOfHeader(bytes, at: start) else { return }
    var sum = CRC32()
    bytes[start..<(end - 2)].withUnsafeBytes { sum.update($0) }
    bytes.set(sum.value, at: end - 2, count: 2)
}

/// Returns where the data of a gzip member begin; nil where there is no header.
private func endOfHeader(_ bytes: [UInt8], at start: Int) -> Int? {
    guard start + 10 < bytes.count, bytes[start] == 0x1F, bytes[start + 1] == 0x8B else { return nil }
    let flags = bytes[start + 3]
    var offset = start + 10
    if flags & 4 != 0 {
        guard let count = bytes.number(at: offset, count: 2) else { return nil }
        offset += 2 + count
    }
    for flag in [8, 16] as [UInt8] where flags & flag != 0 {
        guard offset < bytes.count, let end = bytes[offset...].firstIndex(of: 0) else { return nil }
        offset = end + 1
    }
    if flags & 2 != 0 { offset += 2 }
    return offset < bytes.count ? offset : nil
}
