import BlobPlatform

/// Searches the bytes of a part, which arrive in pieces, for two hyphens and a boundary.
///
/// Finds them anywhere. They end a part only at the beginning of a line (RFC 2046, section 5.1.1), but some receivers
/// let a line begin after a CR or an LF alone, some look for no line at all, and many ignore what follows.
struct BoundaryScanner {
    private let pattern: [UInt8]
    private var tail: [UInt8] = []  // The last bytes of earlier pieces, one fewer than the pattern has.

    init(_ boundary: MultipartBoundary) { self.pattern = Array("--\(boundary.text)".utf8) }

    /// The number of bytes before an offset at which a boundary may begin that ends after it.
    var leadByteCount: Int { self.pattern.count - 1 }

    /// Returns the offset in `bytes` of the first boundary that they complete, below 0 when it begins in an earlier
    /// piece; nil when they complete none.
    mutating func firstMatch(in bytes: UnsafeRawBufferPointer) -> Int? {
        let joint = self.tail + bytes.prefix(self.leadByteCount)
        if let match = joint.withUnsafeBytes(self.firstIndex) { return match - self.tail.count }
        let isShort = bytes.count < self.leadByteCount
        self.tail = isShort ? joint.suffix(self.leadByteCount) : Array(bytes.suffix(self.leadByteCount))
        return self.firstIndex(in: bytes)
    }

    private func firstIndex(in bytes: UnsafeRawBufferPointer) -> Int? {
        let startCount = bytes.count - self.pattern.count + 1
        guard startCount > 0, let start = bytes.baseAddress else { return nil }
        var index = 0
        while index < startCount, let hyphen = memchr(start + index, CInt(self.pattern[0]), startCount - index) {
            if memcmp(hyphen, self.pattern, self.pattern.count) == 0 { return UnsafeRawPointer(hyphen) - start }
            index = UnsafeRawPointer(hyphen) - start + 1
        }
        return nil
    }
}
