extension MediaDescription {
    /// Reads the chunks (PNG, third edition, section 5.3): IHDR, and eXIf at any position.
    mutating func readPNG(_ bytes: HeaderBytes) {
        var offset: Int64 = 8
        while let head = bytes.bytes(at: offset, count: 8) {
            var cursor = ByteCursor(head)
            guard let length = cursor.number(4).map(Int64.init(truncatingIfNeeded:)) else { return }
            let data = (offset + 8)..<(offset + 8 + length)
            switch String(decoding: cursor.rest, as: UTF8.self) {
            case "IHDR":
                guard length >= 8, var size = bytes.bytes(at: data.lowerBound, count: 8).map(ByteCursor.init),
                    let width = size.number(4), let height = size.number(4)
                else { return }
                self.setSize(width, height)
            case "eXIf": return self.readTIFF(bytes, in: data)
            case "IEND": return
            default: break
            }
            offset = data.upperBound + 4  // The checksum follows the data.
        }
    }

    /// Reads the size of the logical screen (GIF89a, section 18).
    mutating func readGIF(_ bytes: HeaderBytes) {
        guard var size = bytes.bytes(at: 6, count: 4).map(ByteCursor.init),
            let width = size.number(2, isBigEndian: false), let height = size.number(2, isBigEndian: false)
        else { return }
        self.setSize(width, height)
    }
}
