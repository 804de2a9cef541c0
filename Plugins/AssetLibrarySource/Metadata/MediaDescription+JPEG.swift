extension MediaDescription {
    /// Reads the segments before the first scan: the frame header, and the Exif data in APP1.
    mutating func readJPEG(_ bytes: HeaderBytes) {
        var hasExif = false
        for (marker, content) in JPEGSegments(bytes) {
            switch marker {
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
                guard content.count >= 6, let frame = bytes.bytes(at: content.lowerBound + 1, count: 4) else { return }
                self.setSize(
                    UInt32(frame[2]) << 8 | UInt32(frame[3]), UInt32(frame[0]) << 8 | UInt32(frame[1]))
            case 0xE1 where !hasExif && content.count >= 6:
                guard bytes.bytes(at: content.lowerBound, count: 6) == Array("Exif\0\0".utf8) else { break }
                hasExif = true
                self.readTIFF(bytes, in: (content.lowerBound + 6)..<content.upperBound)
            default: break
            }
        }
    }
}
