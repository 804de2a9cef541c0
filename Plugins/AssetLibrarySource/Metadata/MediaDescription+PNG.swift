extension MediaDescription {
    /// Reads the chunks (PNG, third edition, section 5.3): IHDR, and eXIf at any position.
    mutating func readPNG(_ bytes: HeaderBytes) {
        for (type, data) in PNGChunks(bytes) {
            switch type {
            case "IHDR":
                guard data.count >= 8, var size = bytes.bytes(at: data.lowerBound, count: 8).map(ByteCursor.init),
                    let width = size.number(4), let height = size.number(4)
                else { return }
                self.setSize(width, height)
            case "eXIf": return self.readTIFF(bytes, in: data)
            default: break
            }
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

/// The chunks of a PNG up to its end.
struct PNGChunks: Sequence, IteratorProtocol {
    private let bytes: HeaderBytes
    private var offset: Int64 = 8

    init(_ bytes: HeaderBytes) { self.bytes = bytes }

    /// Returns the next type, and the range of its data.
    mutating func next() -> (type: String, data: Range<Int64>)? {
        guard var head = self.bytes.bytes(at: self.offset, count: 8).map(ByteCursor.init),
            let length = head.number(4).map(Int64.init(truncatingIfNeeded:))
        else { return nil }
        let data = (self.offset + 8)..<(self.offset + 8 + length)
        self.offset = data.upperBound + 4  // The checksum follows the data.
        let type = String(decoding: head.rest, as: UTF8.self)
        return type == "IEND" ? nil : (type, data)
    }
}
