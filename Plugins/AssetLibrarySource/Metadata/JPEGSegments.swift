/// The segments of a JPEG before its first scan (ITU-T T.81, annex B); ends at an invalid one.
struct JPEGSegments: Sequence, IteratorProtocol {
    private let bytes: HeaderBytes
    private var offset: Int64 = 2

    init(_ bytes: HeaderBytes) { self.bytes = bytes }

    /// Returns the next marker, and the range of what follows the length of its segment.
    mutating func next() -> (marker: UInt8, content: Range<Int64>)? {
        while let head = self.bytes.bytes(at: self.offset, count: 4), head[0] == 0xFF {
            switch head[1] {
            case 0xFF: self.offset += 1  // Fill bytes may precede a marker.
            case 0x01, 0xD0...0xD8: self.offset += 2  // These have no length.
            case 0xD9, 0xDA: return nil
            default:
                let length = Int64(head[2]) << 8 | Int64(head[3])
                guard length >= 2 else { return nil }
                let content = (self.offset + 4)..<(self.offset + 2 + length)
                self.offset = content.upperBound
                return (head[1], content)
            }
        }
        return nil
    }
}
