import BlobStreams

/// A part of a sparse file that is no hole.
struct TarSparsePart: Equatable {
    /// How many parts a file may have; 16 bytes of memory each.
    static let maximumCount = 500_000

    /// From the beginning of the file.
    let byteOffset: Int64
    let byteCount: Int64

    /// The parts that a header of GNU lists, or the block that goes on with it: offset and length in 12 bytes each.
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

/// Reads the list of format 1.0: numbers of decimal digits with a line feed each, of which the first is how many pairs
/// of offset and length follow, filled up to whole blocks.
struct TarSparseMap {
    /// A line is a number that fits 64 bits.
    private static let maximumLineByteCount = 20

    private var line: [UInt8] = []
    private var pairCount: Int64?
    private var byteOffset: Int64?
    private(set) var parts: [TarSparsePart] = []

    /// Takes the next byte; true when the list is whole.
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
