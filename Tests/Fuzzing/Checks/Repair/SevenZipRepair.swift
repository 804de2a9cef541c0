import BlobDeflate

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
