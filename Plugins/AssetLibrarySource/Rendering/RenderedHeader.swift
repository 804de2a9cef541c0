import BlobCore

/// The header of a rendered JPEG, whose metadata are made to fit the rendered pixels while it passes.
///
/// The orientation becomes 1, the size that of the picture; the thumbnail and the properties of adjustments go, so that
/// no other program applies them again. So does what tells of pictures and films behind the original, which are not
/// rendered. XMP and Exif that cannot be read go too; all other metadata stay.
struct RenderedHeader {
    /// The length of the longest header in bytes; metadata of some megabytes are rare.
    static let byteLimit = 16 << 20

    private let size: PictureSize
    /// The bytes that were not passed on, which begin with a segment; nil when the header has passed.
    private var rest: [UInt8]? = []
    /// The number of bytes of the header that came.
    private var byteCount = 0
    private var hasStart = false

    init(for size: PictureSize) { self.size = size }

    /// True when the header has passed.
    var isComplete: Bool { self.rest == nil }

    static let isInvalid = BlobError(.corrupted, "The renderer returned a JPEG whose header is invalid.")

    /// Returns the bytes to deliver for the next bytes of the picture.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when they are no JPEG, ``BlobError/Code/limitExceeded``.
    /// - Complexity: O(bytes).
    mutating func pass(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> [UInt8] {
        guard var rest = self.rest.take() else { return Array(bytes) }
        rest += bytes
        self.byteCount += bytes.count
        guard self.byteCount <= Self.byteLimit else {
            throw BlobError(.limitExceeded, "The metadata of a picture have more than \(Self.byteLimit) bytes.")
        }
        var (result, place) = ([UInt8](), 0)
        if !self.hasStart, rest.count >= 4 {
            guard rest.starts(with: [0xFF, 0xD8]) else { throw Self.isInvalid }
            (result, place, self.hasStart) = ([0xFF, 0xD8], 2, true)
        }
        while self.hasStart, place + 4 <= rest.count {
            guard rest[place] == 0xFF else { throw Self.isInvalid }
            // A fill byte.
            guard rest[place + 1] != 0xFF else {
                place += 1
                continue
            }
            // Metadata come before tables, frames and scans.
            guard rest[place + 1] >= 0xE0 else { return result + rest[place...] }
            let end = max(place + 4, place + 2 + Int(rest[place + 2]) << 8 + Int(rest[place + 3]))
            guard end <= rest.count else { break }
            let content = Array(rest[(place + 4)..<end])
            if let content = self.edited(content, rest[place + 1]), content.count <= 0xFFFD {
                let count = content.count + 2
                result += [0xFF, rest[place + 1], UInt8(count >> 8), UInt8(count & 0xFF)] + content
            }
            place = end
        }
        self.rest = Array(rest[place...])
        return result
    }

    /// Returns the content of a segment; nil for one that goes.
    private func edited(_ content: [UInt8], _ marker: UInt8) -> [UInt8]? {
        switch marker {
        case 0xE1: self.metadata(content)
        // Offsets of pictures behind this one (CIPA DC-007, section 5.2), and the mark of a gain map among these (ISO
        // 21496-1, annex C), which are not rendered.
        case 0xE2:
            ["MPF\0", "urn:iso:std:iso:ts:21496:-1\0"].contains { content.starts(with: $0.utf8) } ? nil : content
        default: content
        }
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
        return isExtended && XMPPacket.mentionsAdjustments(content) ? nil : content
    }
}
