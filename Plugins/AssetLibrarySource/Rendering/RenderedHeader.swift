import BlobCore

/// The header of a rendered JPEG, whose metadata are made to fit the rendered pixels while it passes.
///
/// The orientation becomes 1, the size that of the picture; the thumbnail and the properties of adjustments go, so that
/// no other program applies them again. All other metadata stay.
struct RenderedHeader {
    /// The length of the longest header in bytes; metadata of some megabytes are rare.
    static let byteLimit = 16 << 20

    private let size: PictureSize
    private var header: [UInt8]? = []

    init(for size: PictureSize) { self.size = size }

    /// True when the header has passed.
    var isComplete: Bool { self.header == nil }

    static let isInvalid = BlobError(.corrupted, "The renderer returned a JPEG whose header is invalid.")

    /// Returns the bytes to deliver for the next bytes of the picture.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when they are no JPEG, ``BlobError/Code/limitExceeded``.
    mutating func pass(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> [UInt8] {
        guard var header else { return Array(bytes) }
        header += bytes
        guard header.count <= Self.byteLimit else {
            throw BlobError(.limitExceeded, "The metadata of a picture have more than \(Self.byteLimit) bytes.")
        }
        let result = try self.edited(header)
        self.header = result == nil ? header : nil
        return result ?? []
    }

    /// Returns the edited bytes; nil when the header has not ended yet.
    private func edited(_ bytes: [UInt8]) throws(BlobError) -> [UInt8]? {
        var result = Array(bytes.prefix(2))
        var place = 2
        while place + 4 <= bytes.count {
            guard bytes.starts(with: [0xFF, 0xD8]), bytes[place] == 0xFF else {
                throw Self.isInvalid
            }
            // Metadata come before tables, frames and scans.
            guard bytes[place + 1] >= 0xE0, bytes[place + 1] != 0xFF else { return result + bytes[place...] }
            let end = place + 2 + Int(bytes[place + 2]) << 8 + Int(bytes[place + 3])
            guard end <= bytes.count else { return nil }
            let content = Array(bytes[(place + 4)..<max(place + 4, end)])
            if let content = bytes[place + 1] == 0xE1 ? self.metadata(content) : content, content.count <= 0xFFFD {
                let count = content.count + 2
                result += [0xFF, bytes[place + 1], UInt8(count >> 8), UInt8(count & 0xFF)] + content
            }
            place = max(place + 4, end)
        }
        return nil
    }

    /// Returns the content of an APP1 segment; nil for one that goes.
    private func metadata(_ content: [UInt8]) -> [UInt8]? {
        let (exif, xmp) = (Array("Exif\0\0".utf8), Array(EmbeddedXMP.packetName.utf8))
        if content.starts(with: exif) {
            var editor = ExifEditor(Array(content[exif.count...]))
            editor?.reset(for: self.size)
            return editor.map { exif + $0.bytes }
        }
        if content.starts(with: xmp) {
            return XMPPacket.withoutAdjustments(Array(content[xmp.count...])).map { xmp + $0 }
        }
        let isExtended = content.starts(with: EmbeddedXMP.extensionName.utf8)
        return isExtended && EmbeddedXMP.mentionsAdjustments(content) ? nil : content
    }
}

extension XMPPacket {
    private static let stale = [
        MarkupElement.Name(namespace: "http://ns.adobe.com/tiff/1.0/", local: "Orientation"),
        MarkupElement.Name(namespace: "http://ns.adobe.com/exif/1.0/", local: "PixelXDimension"),
        MarkupElement.Name(namespace: "http://ns.adobe.com/exif/1.0/", local: "PixelYDimension"),
    ]

    /// Returns a packet without the properties of adjustments, orientation and size; nil for one that is invalid.
    static func withoutAdjustments(_ packet: [UInt8]) -> [UInt8]? {
        guard let properties = try? XMPPacket(packet).properties else { return nil }
        var result = packet
        let ranges = properties.filter { property in
            self.stale.contains(property.name)
                || EmbeddedXMP.namespaces.contains { property.name.namespace.hasPrefix($0) }
        }.map(\.range)
        for range in ranges.sorted(by: { $0.lowerBound > $1.lowerBound }) { result.removeSubrange(range) }
        return result
    }
}
