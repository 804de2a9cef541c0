extension MediaDescription {
    /// Reads the segments before the first scan (ITU-T T.81, annex B): the frame header, and the Exif data in APP1.
    mutating func readJPEG(_ bytes: HeaderBytes) {
        var offset: Int64 = 2
        var hasExif = false
        while let head = bytes.bytes(at: offset, count: 4), head[0] == 0xFF {
            let marker = head[1]
            switch marker {
            case 0xFF:
                offset += 1  // Fill bytes may precede a marker.
                continue
            case 0x01, 0xD0...0xD8:
                offset += 2  // These have no length.
                continue
            case 0xD9, 0xDA: return
            default: break
            }
            let length = Int64(head[2]) << 8 | Int64(head[3])
            guard length >= 2 else { return }
            switch marker {
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
                guard length >= 8, let frame = bytes.bytes(at: offset + 5, count: 4) else { return }
                self.setSize(
                    UInt32(frame[2]) << 8 | UInt32(frame[3]), UInt32(frame[0]) << 8 | UInt32(frame[1]))
            case 0xE1 where !hasExif && length >= 8:
                guard bytes.bytes(at: offset + 4, count: 6) == Array("Exif\0\0".utf8) else { break }
                hasExif = true
                self.readTIFF(bytes, in: (offset + 10)..<(offset + 2 + length))
            default: break
            }
            offset += 2 + length
        }
    }
}
