import Foundation

/// Looks for a boundary in the bytes of a part, which come in pieces.
///
/// Finds any line that begins with `--` and the boundary, however it goes on: many receivers take that for the
/// end of the part. The beginning of a part is the beginning of a line.
struct BoundaryScanner {
    /// CR LF, two hyphens and the boundary. CR is only at its beginning, so that is all that a mismatch can begin anew.
    let pattern: [UInt8]
    private var matched: Int

    /// - Parameter isAtStart: Whether the first piece is the beginning of the part.
    init(_ boundary: MultipartBoundary, isAtStart: Bool) {
        self.pattern = Self.pattern(boundary)
        self.matched = isAtStart ? 2 : 0
    }

    static func pattern(_ boundary: MultipartBoundary) -> [UInt8] { Array("\r\n--\(boundary.text)".utf8) }

    /// Where the line begins that the next piece completes, from the beginning of the piece, which may be below 0; nil
    /// when it completes none.
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
