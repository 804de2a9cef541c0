/// The XMP packet in a picture, as far as it may describe an adjustment.
enum EmbeddedXMP {
    /// The beginnings of APP1 segments of a JPEG with a packet, and with a part of an extended one.
    static let packetName = "http://ns.adobe.com/xap/1.0/\0"
    static let extensionName = "http://ns.adobe.com/xmp/extension/\0"

    /// Returns the packet if it mentions adjustments; empty otherwise.
    ///
    /// Several packets, as with an extended one (XMP specification, part 3, section 1.1.3.1), follow each other if they
    /// mention them: they are no valid packet then, and so nothing in them is rendered.
    static func find(in bytes: HeaderBytes) -> [UInt8] {
        let packets: [[UInt8]]
        switch MediaFormat(signature: bytes.prefix(MediaFormat.signatureByteCount)) {
        case .jpeg: packets = self.inJPEG(bytes)
        case .png: packets = self.inPNG(bytes)
        case .heic, .avif: packets = self.packet(bytes, HEIFBoxes(bytes)?.xmpRange)
        case .webp: packets = self.packet(bytes, self.chunks(bytes, isRIFF: true).first { $0.type == "XMP " }?.content)
        case .tiff: packets = self.packet(bytes, TIFFDirectory(bytes, in: 0..<bytes.byteCount)?.xmpRange)
        default: packets = []
        }
        return packets.filter(XMPPacket.mentionsAdjustments).flatMap { $0 }
    }

    /// A packet that describes an adjustment for all that is known, because it cannot be read.
    private static let unreadable: [UInt8] = [0xFE, 0xFF]

    private static func packet(_ bytes: HeaderBytes, _ range: Range<Int64>?) -> [[UInt8]] {
        range.map { [bytes.bytes(at: $0.lowerBound, count: $0.count) ?? self.unreadable] } ?? []
    }

    /// Returns the chunks of a PNG (third edition, section 5.3), or of a WebP (RFC 9649, section 2.3).
    private static func chunks(_ bytes: HeaderBytes, isRIFF: Bool) -> [(type: String, content: Range<Int64>)] {
        var chunks: [(type: String, content: Range<Int64>)] = []
        var offset: Int64 = isRIFF ? 12 : 8
        while let head = bytes.bytes(at: offset, count: 8) {
            var size = ByteCursor(isRIFF ? head[4...] : head[..<4])
            guard let count = size.number(4, isBigEndian: !isRIFF).map(Int64.init) else { break }
            let type = String(decoding: isRIFF ? head[..<4] : head[4...], as: UTF8.self)
            chunks.append((type, (offset + 8)..<(offset + 8 + count)))
            // A checksum follows the data in PNG, and WebP has even offsets.
            offset += 8 + count + (isRIFF ? count % 2 : 4)
        }
        return chunks
    }

    private static func inJPEG(_ bytes: HeaderBytes) -> [[UInt8]] {
        let (main, extended) = (Array(self.packetName.utf8), Array(self.extensionName.utf8))
        var packets: [[UInt8]] = [[]]
        for (marker, range) in JPEGSegments(bytes) where marker == 0xE1 {
            guard let content = bytes.bytes(at: range.lowerBound, count: range.count) else {
                packets.append(self.unreadable)
                break
            }
            if content.starts(with: main) {
                packets.append(Array(content[main.count...]))
            } else if content.starts(with: extended) {
                // A digest of 32 bytes, the length and the offset of the part in the extended packet.
                packets[0] += content[extended.count...].dropFirst(40)
            }
        }
        return packets
    }

    private static func inPNG(_ bytes: HeaderBytes) -> [[UInt8]] {
        let keyword = Array("XML:com.adobe.xmp\0".utf8)
        for (type, range) in self.chunks(bytes, isRIFF: false) where type == "iTXt" {
            guard let content = bytes.bytes(at: range.lowerBound, count: range.count) else { return [self.unreadable] }
            guard content.starts(with: keyword) else { continue }
            // The XMP specification, part 3, has it without compression, language and translated keyword.
            let flags = content[keyword.count...].prefix(4)
            return [flags.allSatisfy { $0 == 0 } ? Array(content[keyword.count...].dropFirst(4)) : self.unreadable]
        }
        return []
    }
}

extension [UInt8] {
    /// Returns true when the bytes of `text` are in these.
    func contains(_ text: String) -> Bool {
        let text = Array(text.utf8)
        guard let first = text.first else { return true }
        var rest = self[...]
        while let place = rest.firstIndex(of: first) {
            if rest[place...].starts(with: text) { return true }
            rest = rest[(place + 1)...]
        }
        return false
    }
}
