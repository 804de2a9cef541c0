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
