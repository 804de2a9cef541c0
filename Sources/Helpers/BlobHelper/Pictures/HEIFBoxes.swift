/// The boxes of HEIF (ISO/IEC 23008-12) with the size of the primary picture and the location of its XMP.
package struct HEIFBoxes {
    private static let metaByteLimit = 1 << 20

    /// The content of the `meta` box.
    private let meta: HeaderBytes

    /// Finds the boxes; returns nil if the file has no `meta` box.
    package init?(_ bytes: HeaderBytes) {
        guard let box = bytes.box("meta"), (4...Self.metaByteLimit).contains(box.count),
            let content = bytes.bytes(at: box.lowerBound, count: box.count)
        else { return nil }
        self.meta = HeaderBytes(content)
    }

    /// Returns the content of the first box of a type in the `meta` box, after its version.
    private func content(_ type: String) -> Range<Int64>? { self.meta.box(type, in: 4..<self.meta.byteCount) }

    // MARK: Properties

    /// The properties of the primary item, in their order.
    package var properties: [(type: String, content: ByteCursor)] {
        var primary = self.meta.cursor(self.content("pitm"))
        guard let head = primary?.number(4), let item = primary?.number(head >> 24 == 0 ? 2 : 4),
            let all = self.content("iprp"), let container = self.meta.box("ipco", in: all),
            var associations = self.meta.cursor(self.meta.box("ipma", in: all))
        else { return [] }
        let boxes = Array(FileBoxes(self.meta, in: container))
        // Indices start at 1; 0 means no property.
        return Self.indices(of: item, &associations).filter { boxes.indices.contains($0 - 1) }.compactMap { index in
            self.meta.cursor(boxes[index - 1].content).map { (boxes[index - 1].type, $0) }
        }
    }

    private static func indices(of wanted: UInt64, _ cursor: inout ByteCursor) -> [Int] {
        var indices: [Int] = []
        guard let head = cursor.number(4), let count = cursor.number(4) else { return [] }
        for _ in 0..<count {
            guard let item = cursor.number(head >> 24 == 0 ? 2 : 4), let number = cursor.number(1) else { break }
            for _ in 0..<number {
                let isWide = head & 1 == 1
                guard let index = cursor.number(isWide ? 2 : 1) else { return indices }
                if item == wanted { indices.append(Int(index & (isWide ? 0x7FFF : 0x7F))) }
            }
        }
        return indices
    }

    // MARK: XMP

    /// The range of the XMP in the file; nil if it has no XMP, or if the XMP is not contiguous.
    package var xmpRange: Range<Int64>? {
        guard let information = self.content("iinf"), information.count >= 8,
            let head = self.meta.bytes(at: information.lowerBound, count: 1),
            var locations = self.meta.cursor(self.content("iloc"))
        else { return nil }
        let entries = information.dropFirst(head[0] == 0 ? 6 : 8)
        for entry in FileBoxes(self.meta, in: entries) where entry.type == "infe" {
            guard var cursor = self.meta.cursor(entry.content), let version = cursor.number(4).map({ $0 >> 24 }),
                version == 2 || version == 3, let item = cursor.number(version == 2 ? 2 : 4), cursor.take(2) != nil,
                cursor.take(4)?.elementsEqual("mime".utf8) == true,
                // A name and the media type follow, each terminated by a zero byte.
                let name = cursor.rest.firstIndex(of: 0),
                cursor.rest[(name + 1)...].starts(with: "application/rdf+xml\0".utf8)
            else { continue }
            return Self.range(of: item, &locations)
        }
        return nil
    }

    private static func range(of wanted: UInt64, _ cursor: inout ByteCursor) -> Range<Int64>? {
        guard let version = cursor.number(4).map({ $0 >> 24 }), version <= 2, let sizes = cursor.number(2),
            let count = cursor.number(version < 2 ? 2 : 4)
        else { return nil }
        let byteCounts = [12, 8, 4, 0].map { Int(sizes >> $0 & 0xF) }
        for _ in 0..<count {
            guard let item = cursor.number(version < 2 ? 2 : 4),
                let method = version == 0 ? 0 : cursor.number(2).map({ $0 & 0xF }), cursor.take(2) != nil,
                let base = cursor.number(byteCounts[2]), let extentCount = cursor.number(2)
            else { return nil }
            let extentByteCount = byteCounts[0] + byteCounts[1] + (version > 0 ? byteCounts[3] : 0)
            guard item == wanted else {
                guard cursor.take(Int(extentCount) * extentByteCount) != nil else { return nil }
                continue
            }
            guard method == 0, extentCount == 1, version == 0 || cursor.number(byteCounts[3]) != nil,
                let offset = cursor.number(byteCounts[0]), let length = cursor.number(byteCounts[1]),
                base &+ offset >= base, let start = Int64(exactly: base &+ offset), let length = Int64(exactly: length),
                case let (end, false) = start.addingReportingOverflow(length)
            else { return nil }
            return start..<end
        }
        return nil
    }
}
