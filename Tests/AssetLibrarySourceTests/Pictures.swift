#if Photos
import Foundation

/// Pictures made by hand, as small as their formats allow.
enum Pictures {
    static let date = "2024:05:01 12:30:59"

    /// A whole PNG of 4 x 2 pixels, which decoders accept.
    static let picture = Array(
        Data(
            base64Encoded: """
                iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAIAAADwyuo0AAAAFElEQVR4nGP4z8DAAMYCCgYMyBwAXOMGu2gSOz8AAAAASUVORK5C\
                YII=
                """) ?? Data())

    /// A TIFF with camera, orientation and date, and a size of its own if it has one.
    ///
    /// - Parameter fields: Further fields of the first directory, by their tags.
    static func tiff(isBigEndian: Bool, size: (Int, Int)? = nil, fields: [(Int, Int)] = []) -> [UInt8] {
        var tiff = TIFFBuilder(isBigEndian: isBigEndian)
        var first: [TIFFBuilder.Entry] = [
            .text(0x010F, "Maker "), .text(0x0110, "M1"), .short(0x0112, 6), .pointer(0x8769),
        ]
        if let size { first = [.short(0x0100, size.0), .short(0x0101, size.1)] + first }
        tiff.add(first + fields.map { .short($0.0, $0.1) })
        tiff.add([.text(0x9003, self.date), .text(0x9011, "+02:00"), .text(0x9291, "042")])
        return tiff.bytes
    }

    /// A JPEG with fill bytes, a comment, Exif and a frame header, and no picture.
    static func jpeg(width: Int, height: Int, exif: [UInt8]? = tiff(isBigEndian: true)) -> [UInt8] {
        var bytes: [UInt8] = [0xFF, 0xD8]
        let segment = { (marker: UInt8, content: [UInt8]) in
            bytes += [0xFF, marker] + big(content.count + 2, 2) + content
        }
        segment(0xE0, Array("JFIF\0".utf8) + [1, 1, 0, 0, 1, 0, 1, 0, 0])
        segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0<x/>".utf8))
        if let exif { segment(0xE1, Array("Exif\0\0".utf8) + exif) }
        bytes += [0xFF, 0xFF]
        segment(0xFE, Array("comment".utf8))
        segment(0xC4, [0xFF, 0xC0, 0, 0])
        segment(0xC2, [8] + big(height, 2) + big(width, 2) + [1, 1, 0x11, 0])
        segment(0xDA, [1, 1, 0, 0, 0x3F, 0])
        return bytes + [0xFF, 0xD9]
    }

    static func png(width: Int, height: Int, exif: [UInt8]? = tiff(isBigEndian: false)) -> [UInt8] {
        var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let chunk = { (type: String, content: [UInt8]) in
            bytes += big(content.count, 4) + type.utf8 + content + [0, 0, 0, 0]
        }
        chunk("IHDR", big(width, 4) + big(height, 4) + [8, 2, 0, 0, 0])
        chunk("IDAT", [1, 2, 3])
        if let exif { chunk("eXIf", exif) }
        chunk("IEND", [])
        return bytes
    }

    static func gif(width: UInt8, height: UInt8) -> [UInt8] {
        Array("GIF89a".utf8) + [width, 1, height, 0, 0, 0, 0, 0x3B]
    }

    /// A HEIC of one tile item and a primary one, with Exif behind the boxes.
    ///
    /// - Parameter turns: The boxes that crop and rotate the primary one, in order.
    static func heic(
        width: Int, height: Int, brand: String = "heic", turns: [[UInt8]] = [box("irot", [3])]
    ) -> [UInt8] {
        let exif = big(0, 4) + self.tiff(isBigEndian: true)
        let make = { (exifOffset: Int) -> [UInt8] in
            var items: [UInt8] = []
            for (number, type) in [(1, "hvc1"), (2, "grid"), (3, "Exif")] {
                let content = big(2 << 24, 4) + big(number, 2) + [0, 0]
                items += box("infe", content + Array(type.utf8) + [0])
            }
            var properties = box("ispe", big(0, 4) + big(512, 4) + big(512, 4))
            properties += box("ispe", big(0, 4) + big(width, 4) + big(height, 4))
            properties += turns.joined()
            var associations = big(0, 4) + big(2, 4)
            associations += big(1, 2) + [1, 0x81]
            associations += big(2, 2) + [UInt8(1 + turns.count), 2] + turns.indices.map { UInt8(0x83 + $0) }
            var location = big(0, 4) + [0x44, 0x00] + big(1, 2)
            location += big(3, 2) + big(0, 2) + big(1, 2)
            location += big(exifOffset, 4) + big(exif.count, 4)
            var meta = big(0, 4) + box("hdlr", big(0, 8) + Array("pict".utf8))
            meta += box("pitm", big(0, 4) + big(2, 2))
            meta += box("iinf", big(0, 4) + big(3, 2) + items)
            meta += box("iprp", box("ipco", properties) + box("ipma", associations))
            meta += box("iloc", location)
            let brands = Array("mif1".utf8) + big(0, 4) + Array("mif1\(brand)".utf8)
            return box("ftyp", brands) + box("free", []) + box("meta", meta)
        }
        let head = make(0).count + 8
        return make(head) + box("mdat", exif)
    }

    static var all: [(name: String, bytes: [UInt8])] {
        [
            ("jpeg", self.jpeg(width: 4032, height: 3024)), ("png", self.png(width: 640, height: 480)),
            ("heic", self.heic(width: 4032, height: 3024)), ("gif", self.gif(width: 2, height: 3)),
            ("tiff", self.tiff(isBigEndian: false, size: (64, 32))),
        ]
    }
}

func big(_ value: Int, _ byteCount: Int) -> [UInt8] {
    (0..<byteCount).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> ($0 * 8)) : 0 }
}

func box(_ type: String, _ content: [UInt8]) -> [UInt8] { big(content.count + 8, 4) + type.utf8 + content }

/// Writes directories one behind the other, each with its values behind it.
private struct TIFFBuilder {
    enum Entry {
        case text(Int, String)
        case short(Int, Int)
        /// To the next directory that is added.
        case pointer(Int)
    }

    private let isBigEndian: Bool
    private(set) var bytes: [UInt8]

    init(isBigEndian: Bool) {
        self.isBigEndian = isBigEndian
        self.bytes = isBigEndian ? [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8] : [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0]
    }

    mutating func add(_ entries: [Entry]) {
        let start = self.bytes.count
        var values: [UInt8] = []
        let valueStart = start + 2 + entries.count * 12 + 4
        let valueCount = entries.reduce(0) { count, entry in
            if case .text(_, let text) = entry, text.utf8.count >= 4 { count + text.utf8.count + 1 } else { count }
        }
        var table = self.number(entries.count, 2)
        for entry in entries {
            switch entry {
            case .text(let tag, let text):
                let bytes = Array(text.utf8) + [0]
                table += self.number(tag, 2) + self.number(2, 2) + self.number(bytes.count, 4)
                if bytes.count <= 4 {
                    table += bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
                } else {
                    table += self.number(valueStart + values.count, 4)
                    values += bytes
                }
            case .short(let tag, let value):
                table += self.number(tag, 2) + self.number(3, 2) + self.number(1, 4) + self.number(value, 2) + [0, 0]
            case .pointer(let tag):
                table += self.number(tag, 2) + self.number(4, 2) + self.number(1, 4)
                table += self.number(valueStart + valueCount, 4)
            }
        }
        self.bytes += table + [0, 0, 0, 0] + values
    }

    private func number(_ value: Int, _ byteCount: Int) -> [UInt8] {
        self.isBigEndian ? big(value, byteCount) : big(value, byteCount).reversed()
    }
}
#endif
