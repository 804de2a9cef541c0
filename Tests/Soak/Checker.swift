import BlobStreamsStandard
import Foundation

/// A byte, or an end, that is not the one of the blob.
struct WrongBytes: Error, CustomStringConvertible {
    let description: String
}

/// Compares the bytes that a consumer gets with those of the blob.
struct Checker {
    private let bytes: Data
    /// The offset of the next byte.
    private(set) var byteOffset: Int
    private let start: Int
    /// False when bytes may be wrong for as long as no end follows them: those under a checksum that comes last.
    private let isStrict: Bool
    private var isWrong = false

    init(_ bytes: Data, from byteOffset: Int, isStrict: Bool) {
        (self.bytes, self.byteOffset, self.start, self.isStrict) = (bytes, byteOffset, byteOffset, isStrict)
    }

    /// The number of bytes so far.
    var byteCount: Int { self.byteOffset - self.start }

    /// Continues elsewhere, after the stream was set to another offset.
    mutating func move(to byteOffset: Int) { self.byteOffset = byteOffset }

    mutating func take(_ part: some ContiguousBytes) throws {
        let start = self.byteOffset
        let (end, isRight) = part.withUnsafeBytes { part in
            self.bytes.withUnsafeBytes { bytes in
                let end = start + part.count
                // The addresses of empty buffers are nil.
                guard end <= bytes.count, let found = part.baseAddress, let all = bytes.baseAddress else {
                    return (end, part.isEmpty)
                }
                return (end, memcmp(found, all + start, part.count) == 0)
            }
        }
        if !isRight, self.isStrict {
            throw WrongBytes(description: "wrong bytes from offset \(start) on, before \(end)")
        }
        self.isWrong = self.isWrong || !isRight
        self.byteOffset = end
    }

    /// Throws unless all bytes came, and were right.
    func end() throws {
        guard self.byteOffset == self.bytes.count, !self.isWrong else {
            throw WrongBytes(
                description: "an end after byte \(self.byteOffset) of \(self.bytes.count)"
                    + (self.isWrong ? ", with wrong bytes" : ""))
        }
    }
}
