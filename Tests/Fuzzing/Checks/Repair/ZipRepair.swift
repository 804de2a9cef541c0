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
