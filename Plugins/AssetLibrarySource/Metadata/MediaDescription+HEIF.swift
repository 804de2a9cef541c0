extension MediaDescription {
    /// Reads the `meta` box (ISO/IEC 23008-12): the size of the primary item, its orientation, and the Exif item.
    mutating func readHEIF(_ bytes: HeaderBytes) {
        guard let meta = Self.metaBox(bytes) else { return }
        var primary: UInt64?
        var properties: ItemProperties?
        var items = ItemTable()
        for box in ISOBoxes(meta.dropFirst(4)) {
            switch box.type {
            case "pitm":
                var cursor = ByteCursor(box.content)
                primary = cursor.number(4).flatMap { cursor.number($0 >> 24 == 0 ? 2 : 4) }
            case "iprp": properties = ItemProperties(box.content)
            case "iinf": items.readInformation(box.content)
            case "iloc": items.readLocations(box.content)
            default: break
            }
        }
        if let primary, let properties { self.readProperties(properties.of(primary)) }
        let orientation = self.orientation
        if let exif = items.exifRange, let start = bytes.bytes(at: exif.lowerBound, count: 4) {
            var cursor = ByteCursor(start)
            let skipped = cursor.number(4).map { Int64($0) + 4 } ?? 0
            guard skipped < exif.count else { return }
            self.readTIFF(bytes, in: (exif.lowerBound + skipped)..<exif.upperBound)
        }
        // Readers rotate the picture by its properties, which Exif only repeats (section A.2.1).
        self.orientation = orientation
    }

    /// Reads the properties of the primary item. Readers cut, turn and mirror the picture in their order.
    private mutating func readProperties(_ properties: [ItemProperties.Property]) {
        var turn: PictureOrientation?
        for property in properties {
            var cursor = ByteCursor(property.content)
            switch property.type {
            case "ispe":
                guard cursor.take(4) != nil, let width = cursor.number(4), let height = cursor.number(4) else { break }
                self.setSize(width, height)
            case "clap":
                let numbers = (0..<4).compactMap { _ in cursor.number(4).map { Double($0) } }
                guard numbers.count == 4, numbers[1] > 0, numbers[3] > 0, let width = self.pixelWidth,
                    let height = self.pixelHeight
                else { break }
                // The size before any turn is kept, and this one is of the picture as it is turned so far.
                let turn = turn ?? .identity
                let size = turn.applied(to: PictureSize(width: width, height: height))
                let cut = turn.applied(
                    to: PictureSize(
                        width: Int(min(Double(size.width), (numbers[0] / numbers[1]).rounded())),
                        height: Int(min(Double(size.height), (numbers[2] / numbers[3]).rounded()))))
                self.setSize(cut.width, cut.height)
            case "irot":
                let number = cursor.number(1).map { [1, 8, 3, 6][Int($0 & 3)] }
                turn = (turn ?? .identity).followed(by: number.flatMap(PictureOrientation.init) ?? .identity)
            case "imir":
                // Axis 0 exchanges top and bottom, 1 left and right.
                let number = cursor.number(1).map { $0 & 1 == 0 ? 4 : 2 }
                turn = (turn ?? .identity).followed(by: number.flatMap(PictureOrientation.init) ?? .identity)
            default: break
            }
        }
        self.orientation = turn?.number ?? self.orientation
    }

    /// Returns the range of the XMP item.
    static func xmpRange(inHEIF bytes: HeaderBytes) -> Range<Int64>? {
        guard let meta = self.metaBox(bytes) else { return nil }
        var items = ItemTable()
        for box in ISOBoxes(meta.dropFirst(4)) {
            if box.type == "iinf" { items.readInformation(box.content) }
            if box.type == "iloc" { items.readLocations(box.content) }
        }
        return items.xmpRange
    }

    private static let metaByteLimit = 1 << 20

    private static func metaBox(_ bytes: HeaderBytes) -> ArraySlice<UInt8>? {
        guard let box = FileBoxes(bytes, in: 0..<bytes.byteCount).first(where: { $0.type == "meta" }),
            box.content.count <= self.metaByteLimit
        else { return nil }
        return bytes.bytes(at: box.content.lowerBound, count: box.content.count).map { $0[...] }
    }
}

/// The sequence of boxes in some bytes (ISO/IEC 14496-12, section 4.2); ends at an invalid box.
private struct ISOBoxes: Sequence, IteratorProtocol {
    private var cursor: ByteCursor

    init(_ content: some Sequence<UInt8>) { self.cursor = ByteCursor(content) }

    mutating func next() -> (type: String, content: ArraySlice<UInt8>)? {
        guard let size = self.cursor.number(4), let type = self.cursor.take(4) else { return nil }
        let count: Int
        switch size {
        case 0: count = self.cursor.rest.count
        case 1:
            guard let long = self.cursor.number(8).flatMap(Int.init(exactly:)), long >= 16 else { return nil }
            count = long - 16
        default:
            guard size >= 8 else { return nil }
            count = Int(size) - 8
        }
        guard let content = self.cursor.take(count) else { return nil }
        return (String(decoding: type, as: UTF8.self), content)
    }
}

/// The properties of each item: `ipco` and `ipma`.
private struct ItemProperties {
    typealias Property = (type: String, content: ArraySlice<UInt8>)

    private var properties: [Property] = []
    private var indices: [UInt64: [Int]] = [:]

    init(_ content: ArraySlice<UInt8>) {
        for box in ISOBoxes(content) {
            if box.type == "ipco" { self.properties = Array(ISOBoxes(box.content)) }
            if box.type == "ipma" { self.readAssociations(box.content) }
        }
    }

    func of(_ item: UInt64) -> [Property] {
        // Indices count from 1; 0 means no property.
        (self.indices[item] ?? []).compactMap {
            self.properties.indices.contains($0 - 1) ? self.properties[$0 - 1] : nil
        }
    }

    private mutating func readAssociations(_ content: ArraySlice<UInt8>) {
        var cursor = ByteCursor(content)
        guard let head = cursor.number(4), let count = cursor.number(4) else { return }
        for _ in 0..<count {
            guard let item = cursor.number(head >> 24 == 0 ? 2 : 4), let number = cursor.number(1) else { return }
            for _ in 0..<number {
                let isWide = head & 1 == 1
                guard let index = cursor.number(isWide ? 2 : 1) else { return }
                self.indices[item, default: []].append(Int(index & (isWide ? 0x7FFF : 0x7F)))
            }
        }
    }
}

/// The Exif and XMP items (`iinf`), and the locations of the items (`iloc`).
private struct ItemTable {
    private var exif: UInt64?
    private var xmp: UInt64?
    private var ranges: [UInt64: Range<Int64>] = [:]

    var exifRange: Range<Int64>? { self.exif.flatMap { self.ranges[$0] } }
    var xmpRange: Range<Int64>? { self.xmp.flatMap { self.ranges[$0] } }

    mutating func readInformation(_ content: ArraySlice<UInt8>) {
        var cursor = ByteCursor(content)
        guard let head = cursor.number(4), cursor.number(head >> 24 == 0 ? 2 : 4) != nil else { return }
        for entry in ISOBoxes(cursor.rest) where entry.type == "infe" {
            var cursor = ByteCursor(entry.content)
            guard let version = cursor.number(4).map({ $0 >> 24 }), version == 2 || version == 3,
                let item = cursor.number(version == 2 ? 2 : 4), cursor.take(2) != nil, let type = cursor.take(4)
            else { continue }
            if type.elementsEqual("Exif".utf8), self.exif == nil { self.exif = item }
            // A name and the media type follow, each with a zero byte behind it.
            guard type.elementsEqual("mime".utf8), self.xmp == nil,
                let name = cursor.rest.firstIndex(of: 0)
            else { continue }
            if cursor.rest[(name + 1)...].starts(with: "application/rdf+xml\0".utf8) { self.xmp = item }
        }
    }

    mutating func readLocations(_ content: ArraySlice<UInt8>) {
        var cursor = ByteCursor(content)
        guard let version = cursor.number(4).map({ $0 >> 24 }), version <= 2, let sizes = cursor.number(2),
            let count = cursor.number(version < 2 ? 2 : 4)
        else { return }
        let byteCounts = [12, 8, 4, 0].map { Int(sizes >> $0 & 0xF) }
        for _ in 0..<count {
            guard let item = cursor.number(version < 2 ? 2 : 4),
                let method = version == 0 ? 0 : cursor.number(2).map({ $0 & 0xF }), cursor.take(2) != nil,
                let base = cursor.number(byteCounts[2]), let extentCount = cursor.number(2)
            else { return }
            // Extents that take no bytes in the table cost a forged file nothing, and the loop much.
            guard extentCount <= 1 || byteCounts[0] + byteCounts[1] > 0 else { continue }
            for _ in 0..<extentCount {
                if version > 0, cursor.number(byteCounts[3]) == nil { return }
                guard let offset = cursor.number(byteCounts[0]), let length = cursor.number(byteCounts[1]) else {
                    return
                }
                // Only items in one piece of the file are used.
                guard method == 0, extentCount == 1, let start = Int64(exactly: base &+ offset), base &+ offset >= base,
                    let length = Int64(exactly: length), case let (end, false) = start.addingReportingOverflow(length)
                else { continue }
                self.ranges[item] = start..<end
            }
        }
    }
}
