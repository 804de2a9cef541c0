extension MediaDescription {
    /// Reads the size in the first chunk (RFC 9649, section 2.5 to 2.7).
    mutating func readWebP(_ bytes: HeaderBytes) {
        guard let chunk = bytes.bytes(at: 12, count: 18) else { return }
        var cursor = ByteCursor(chunk[8...])
        switch String(decoding: chunk[..<4], as: UTF8.self) {
        case "VP8X":
            guard cursor.take(4) != nil, let width = cursor.number(3, isBigEndian: false),
                let height = cursor.number(3, isBigEndian: false)
            else { return }
            self.setSize(width + 1, height + 1)
        case "VP8 ":
            guard cursor.take(6) != nil, let width = cursor.number(2, isBigEndian: false),
                let height = cursor.number(2, isBigEndian: false)
            else { return }
            self.setSize(width & 0x3FFF, height & 0x3FFF)
        case "VP8L":
            guard cursor.number(1) == 0x2F, let sizes = cursor.number(4, isBigEndian: false) else { return }
            self.setSize(sizes & 0x3FFF + 1, sizes >> 14 & 0x3FFF + 1)
        default: break
        }
    }

    /// Reads the first TIFF in the boxes of a Canon Raw 3: `moov`, then a `uuid` of Canon, then `CMT1`.
    mutating func readCR3(_ bytes: HeaderBytes) {
        guard let movie = FileBoxes(bytes, in: 0..<bytes.byteCount).first(where: { $0.type == "moov" }),
            let own = FileBoxes(bytes, in: movie.content).first(where: { $0.type == "uuid" && $0.content.count > 16 }),
            let tiff = FileBoxes(bytes, in: (own.content.lowerBound + 16)..<own.content.upperBound)
                .first(where: { $0.type == "CMT1" })
        else { return }
        self.readTIFF(bytes, in: tiff.content, hasSize: true)
    }
}
