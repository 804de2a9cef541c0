/// The boxes in a range of an ISO base media file (ISO/IEC 14496-12, section 4.2); ends at an invalid box.
struct FileBoxes: Sequence, IteratorProtocol {
    struct Box {
        let type: String
        let content: Range<Int64>
    }

    private let bytes: HeaderBytes
    private var rest: Range<Int64>

    init(_ bytes: HeaderBytes, in range: Range<Int64>) {
        self.bytes = bytes
        self.rest = range.clamped(to: 0..<bytes.byteCount)
    }

    mutating func next() -> Box? {
        let start = self.rest.lowerBound
        guard self.rest.count >= 8, var head = self.bytes.bytes(at: start, count: 8).map(ByteCursor.init),
            let short = head.number(4)
        else { return nil }
        // Types have letters beyond ASCII, too.
        let type = String(String.UnicodeScalarView(head.rest.map { Unicode.Scalar($0) }))
        var headCount: Int64 = 8
        var size = Int64(short)
        if short == 1 {
            guard var long = self.bytes.bytes(at: start + 8, count: 8).map(ByteCursor.init),
                let value = long.number(8).flatMap(Int64.init(exactly:))
            else { return nil }
            (headCount, size) = (16, value)
        } else if short == 0 {
            size = Int64(self.rest.count)
        }
        guard size >= headCount, size <= Int64(self.rest.count) else { return nil }
        self.rest = (start + size)..<self.rest.upperBound
        return Box(type: type, content: (start + headCount)..<(start + size))
    }
}

extension HeaderBytes {
    /// Returns a cursor over the first bytes of a box, at most `limit`; nil when they are unavailable.
    func cursor(_ box: FileBoxes.Box, limit: Int) -> ByteCursor? {
        self.bytes(at: box.content.lowerBound, count: Swift.min(box.content.count, limit)).map(ByteCursor.init)
    }
}
