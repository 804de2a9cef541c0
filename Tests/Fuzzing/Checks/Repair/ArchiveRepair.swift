import BlobDeflate

/// Makes the local headers of a zip agree with its directory, the checksums right, and the trailer lead to the
/// directory.
func repairZip(_ bytes: inout [UInt8]) {
    let places = bytes.indices.dropLast(21).filter { bytes[$0] == 0x50 && bytes[$0 + 1] == 0x4B }
    let records = places.filter { bytes.number(at: $0, count: 4) == 0x0201_4B50 }
    guard let trailer = places.last(where: { bytes.number(at: $0, count: 4) == 0x0605_4B50 }) else { return }
    if let first = records.first, first < trailer {
        bytes.set(records.count, at: trailer + 8, count: 2)
        bytes.set(records.count, at: trailer + 10, count: 2)
        bytes.set(trailer - first, at: trailer + 12, count: 4)
        bytes.set(first, at: trailer + 16, count: 4)
        bytes.set(bytes.count - trailer - 22, at: trailer + 20, count: 2)
    }
    for record in records { repairMember(&bytes, record) }
}

/// Corrects the checksum and the length in a record of the directory, and copies it to the local header.
///
/// APPNOTE.TXT, sections 4.3.7 and 4.3.12.
private func repairMember(_ bytes: inout [UInt8], _ record: Int) {
    guard let local = bytes.number(at: record + 42, count: 4), bytes.number(at: local, count: 4) == 0x0403_4B50,
        let nameCount = bytes.number(at: local + 26, count: 2), let extraCount = bytes.number(at: local + 28, count: 2),
        let method = bytes.number(at: record + 10, count: 2), let flags = bytes.number(at: record + 8, count: 2),
        let byteCount = bytes.number(at: record + 20, count: 4)
    else { return }
    let start = local + 30 + nameCount + extraCount
    guard start <= bytes.count, byteCount <= bytes.count - start else { return }
    var data = Array(bytes[start..<(start + byteCount)])
    if method == 8 { data = ZlibDecoded(data, windowBits: -15, atMost: 1 << 20).bytes }
    var sum = CRC32()
    data.withUnsafeBytes { sum.update($0) }
    bytes.set(sum.value, at: record + 16, count: 4)
    bytes.set(data.count, at: record + 24, count: 4)
    // Version, flags, method, time and date.
    for index in 0..<10 { bytes[local + 4 + index] = bytes[record + 6 + index] }
    // With bit 3, they follow the data.
    if flags & 8 == 0 {
        for index in 0..<12 { bytes[local + 14 + index] = bytes[record + 16 + index] }
    }
    guard bytes.number(at: record + 28, count: 2) == nameCount, record + 46 + nameCount <= bytes.count else { return }
    for index in 0..<nameCount { bytes[local + 30 + index] = bytes[record + 46 + index] }
}

/// Corrects the checksums of the headers of a tar, as far as one leads to the next.
func repairTar(_ bytes: inout [UInt8]) {
    var offset = 0
    while offset + 512 <= bytes.count {
        let block = bytes[offset..<(offset + 512)]
        guard !block.allSatisfy({ $0 == 0 }) else {
            offset += 512
            continue
        }
        // The sum counts its own field, of 8 bytes at 148, as spaces.
        let sum = block.reduce(0) { $0 + Int($1) } - block.dropFirst(148).prefix(8).reduce(0) { $0 + Int($1) } + 8 * 32
        let digits = String(sum, radix: 8)
        let field = String(repeating: "0", count: max(0, 6 - digits.count)) + digits + "\0 "
        bytes.replaceSubrange((offset + 148)..<(offset + 156), with: field.utf8)
        let size = bytes[(offset + 124)..<(offset + 136)].prefix { $0 != 0 && $0 != 0x20 }
        guard let byteCount = Int(String(decoding: size, as: UTF8.self), radix: 8), byteCount < bytes.count else {
            offset += 512
            continue
        }
        offset += 512 + (max(0, byteCount) + 511) / 512 * 512
    }
}

/// Corrects the checksums of the start header of a 7z, and of the header that it leads to.
///
/// 7zFormat.txt, "SignatureHeader": its checksum at 8, of the 20 bytes at 12, which are the place of the header behind
/// byte 32, its length and its checksum.
func repairSevenZip(_ bytes: inout [UInt8]) {
    guard bytes.count > 32 else { return }
    if let place = bytes.number(at: 12, count: 8), let byteCount = bytes.number(at: 20, count: 8) {
        // Nearly every other number leads out of the file.
        if byteCount > bytes.count - 32 || place > bytes.count - 32 - byteCount {
            bytes.set(max(0, min(byteCount, bytes.count - 32)), at: 20, count: 8)
            bytes.set(bytes.count - 32 - max(0, min(byteCount, bytes.count - 32)), at: 12, count: 8)
        }
    }
    guard let place = bytes.number(at: 12, count: 8), let byteCount = bytes.number(at: 20, count: 8),
        byteCount <= bytes.count - 32, place <= bytes.count - 32 - byteCount
    else { return }
    bytes.set(crc32(bytes[(32 + place)..<(32 + place + byteCount)]), at: 28, count: 4)
    bytes.set(crc32(bytes[12..<32]), at: 8, count: 4)
}

private func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    var sum = CRC32()
    bytes.withUnsafeBytes { sum.update($0) }
    return sum.value
}
