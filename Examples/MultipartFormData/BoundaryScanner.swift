import Foundation

/// Searches the bytes of a part, which arrive in pieces, for a boundary.
///
/// Finds every line that begins with `--` and the boundary, whatever follows: many receivers take such a line for the
/// end of the part. A part begins at the beginning of a line.
struct BoundaryScanner {
    /// CR LF, two hyphens and the boundary. Its only CR is the first byte, so a mismatch can only restart at a CR.
    let pattern: [UInt8]
    private var matched: Int

    /// - Parameter isAtStart: True when the first piece is the beginning of the part.
    init(_ boundary: MultipartBoundary, isAtStart: Bool) {
        self.pattern = Self.pattern(boundary)
        self.matched = isAtStart ? 2 : 0
    }

    static func pattern(_ boundary: MultipartBoundary) -> [UInt8] { Array("\r\n--\(boundary.text)".utf8) }

    /// Returns the offset in `bytes` of the first boundary line that they complete, below 0 when the line begins in an
    /// earlier piece; nil when they complete none.
    mutating func firstMatch(in bytes: UnsafeRawBufferPointer) -> Int? {
        var index = 0
        while index < bytes.count {
            if self.matched == 0 {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[index...])
                guard let start = rest.baseAddress, let found = memchr(start, 0x0D, rest.count) else { return nil }
                index += UnsafeRawPointer(found) - start
            }
            let byte = bytes[index]
            index += 1
            if byte == self.pattern[self.matched] {
                self.matched += 1
                if self.matched == self.pattern.count { return index - (self.pattern.count - 2) }
            } else {
                self.matched = byte == self.pattern[0] ? 1 : 0
            }
        }
        return nil
    }
}
