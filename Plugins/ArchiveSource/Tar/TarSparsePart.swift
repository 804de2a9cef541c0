import BlobCore

/// A part of a sparse file that is not a hole.
struct TarSparsePart: Equatable {
    /// The maximum number of parts in a file; each takes 16 bytes of memory.
    static let maximumCount = 500_000

    /// The offset from the beginning of the file.
    let byteOffset: Int64
    let byteCount: Int64

    /// Returns the parts in a GNU header or a block that continues it: offset and length in 12 bytes each.
    static func parts(in header: TarHeader, at start: Int, count: Int) -> [TarSparsePart] {
        var parts: [TarSparsePart] = []
        for index in 0..<count where header.block[start + 24 * index] != 0 {
            let place = start + 24 * index
            parts.append(
                TarSparsePart(byteOffset: header.number(place, 12), byteCount: header.number(place + 12, 12)))
        }
        return parts
    }
}

/// A parser for the list of format 1.0: decimal numbers, each with a line feed. The first is the number of pairs of
/// offset and length that follow; the list is padded to whole blocks.
struct TarSparseMap {
    /// The maximum length of a line, which is a number that fits in 64 bits.
    private static let maximumLineByteCount = 20

    private var line: [UInt8] = []
    private var pairCount: Int64?
    private var byteOffset: Int64?
    private(set) var parts: [TarSparsePart] = []

    /// Takes the next byte; returns true when the list is complete.
    mutating func take(_ byte: UInt8) throws(BlobError) -> Bool {
        guard byte == 0x0A else {
            self.line.append(byte)
            guard self.line.count <= Self.maximumLineByteCount else { throw self.isMalformed }
            return false
        }
        guard let number = decimal(self.line[...]) else { throw self.isMalformed }
        self.line.removeAll(keepingCapacity: true)
        if self.pairCount == nil {
            guard number <= TarSparsePart.maximumCount else {
                throw BlobError(
                    .limitExceeded, "The sparse file has more parts than the limit of \(TarSparsePart.maximumCount).")
            }
            self.pairCount = number
        } else if let offset = self.byteOffset {
            self.parts.append(TarSparsePart(byteOffset: offset, byteCount: number))
            self.byteOffset = nil
        } else {
            self.byteOffset = number
        }
        return Int64(self.parts.count) == self.pairCount
    }

    private var isMalformed: BlobError { BlobError(.corrupted, "The map of the sparse file is malformed.") }
}
