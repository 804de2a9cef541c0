package import BlobCore

/// The header of a rendered JPEG, whose metadata is adapted to the rendered pixels as it passes.
///
/// The orientation becomes 1, and the size becomes the size of the picture. The thumbnail and the properties of
/// adjustments are removed, so that no other program applies them again. References to pictures and videos that follow
/// the original, which are not rendered, are also removed. Unreadable XMP and Exif are removed too; all other metadata
/// stays.
package struct RenderedHeader {
    /// The length of the longest header in bytes; metadata of some megabytes is rare.
    package static let byteLimit = 16 << 20

    private let size: PictureSize
    /// The bytes that have not been passed on yet, which begin with a segment; nil once the header has passed.
    private var rest: [UInt8]? = []
    /// The number of header bytes received.
    private var byteCount = 0
    private var hasStart = false

    package init(for size: PictureSize) { self.size = size }

    /// True once the header has passed.
    package var isComplete: Bool { self.rest == nil }

    package static let invalidHeaderError = BlobError(
        .corrupted, "The renderer returned a JPEG whose header is invalid.")

    /// Returns the bytes to deliver for the next bytes of the picture.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the bytes are not a JPEG, ``BlobError/Code/limitExceeded`` if the
    ///   header is longer than ``byteLimit``.
    /// - Complexity: O(bytes).
    package mutating func pass(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> [UInt8] {
        guard var rest = self.rest.take() else { return Array(bytes) }
        rest += bytes
        self.byteCount += bytes.count
        guard self.byteCount <= Self.byteLimit else {
            throw BlobError(
                .limitExceeded, "The metadata of the picture is larger than the limit of \(Self.byteLimit) bytes.")
        }
        var (result, place) = ([UInt8](), 0)
        if !self.hasStart, rest.count >= 4 {
            guard rest.starts(with: [0xFF, 0xD8]) else { throw Self.invalidHeaderError }
            (result, place, self.hasStart) = ([0xFF, 0xD8], 2, true)
        }
        while self.hasStart, place + 4 <= rest.count {
            guard rest[place] == 0xFF else { throw Self.invalidHeaderError }
            // A fill byte.
            guard rest[place + 1] != 0xFF else {
                place += 1
                continue
            }
            // Metadata comes before tables, frames and scans.
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

    /// Returns the content of a segment; nil if it is removed.
    private func edited(_ content: [UInt8], _ marker: UInt8) -> [UInt8]? {
        switch marker {
        case 0xE1: self.metadata(content)
        // Offsets of pictures after this one (CIPA DC-007, section 5.2), and the mark of a gain map among them (ISO
        // 21496-1, annex C), which are not rendered.
        case 0xE2:
            ["MPF\0", "urn:iso:std:iso:ts:21496:-1\0"].contains { content.starts(with: $0.utf8) } ? nil : content
        default: content
        }
    }

    /// Returns the content of an APP1 segment; nil if it is removed.
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

/// An editor of the Exif data of a picture whose pixels were changed.
///
/// Changes values in place, so that offsets used by a maker note stay valid. Data after any damage is left unchanged.
package struct ExifEditor {
    /// The TIFF structure (TIFF 6.0, section 2).
    package private(set) var bytes: [UInt8]
    private let firstDirectory: TIFFDirectory

    /// Creates an editor; nil if the bytes are not a TIFF.
    package init?(_ bytes: [UInt8]) {
        guard let first = TIFFDirectory(HeaderBytes(bytes), in: 0..<Int64(bytes.count)) else { return nil }
        (self.bytes, self.firstDirectory) = (bytes, first)
    }

    /// Sets the orientation to 1 and the size to the size of the picture, and removes the thumbnail, which shows the
    /// original.
    package mutating func reset(for size: PictureSize) {
        self.set(1, at: self.firstDirectory.place(of: 0x0112))
        if let exif = self.firstDirectory.number(0x8769).map(self.firstDirectory.directory) {
            self.set(size.width, at: exif.place(of: 0xA002))
            self.set(size.height, at: exif.place(of: 0xA003))
        }
        guard let next = self.firstDirectory.nextDirectory, next.offset != 0 else { return }
        self.set(0, at: next.place)
        let thumbnail = self.firstDirectory.directory(at: next.offset)
        guard let start = thumbnail.number(0x0201).map(Int.init), let length = thumbnail.number(0x0202).map(Int.init),
            start >= 8, length <= self.bytes.count - min(start, self.bytes.count)
        else { return }
        for place in start..<(start + length) { self.bytes[place] = 0 }
        if start + length == self.bytes.count { self.bytes.removeLast(length) }
    }

    private mutating func set(_ value: Int, at range: Range<Int>?) {
        guard let range else { return }
        for place in range {
            let shift = 8 * (self.firstDirectory.isBigEndian ? range.upperBound - 1 - place : place - range.lowerBound)
            self.bytes[place] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }
}
