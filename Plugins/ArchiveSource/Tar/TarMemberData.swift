import BlobCore

/// A cursor over the stored bytes of a member and the places in the file that they belong to.
struct TarMemberData {
    /// The parts of a sparse file; nil for a file without holes.
    var parts: [TarSparsePart]?
    /// True while the list of the parts stands before the bytes.
    var hasMapInData = false
    private var partIndex = 0
    private var partPosition: Int64 = 0
    /// The offset in the file after the last bytes.
    private(set) var byteOffset: Int64 = 0

    var isSparse: Bool { self.parts != nil || self.hasMapInData }

    /// Returns the next bytes and their offset in the file; nil at the end.
    mutating func next(in blocks: TarBlocks) throws(BlobError) -> (UnsafeRawBufferPointer, byteOffset: Int64)? {
        if self.hasMapInData { try self.readMap(in: blocks) }
        guard let part = self.currentPart(in: blocks) else {
            guard blocks.data.isEmpty || self.parts == nil else { throw Self.lengthError(in: blocks) }
            return nil
        }
        guard !blocks.data.isEmpty else { throw Self.lengthError(in: blocks) }
        let (offset, overflows) = part.byteOffset.addingReportingOverflow(self.partPosition)
        guard !overflows, part.byteOffset >= 0 else {
            throw BlobError(
                .corrupted, "A part of the sparse file is out of range.", byteOffset: blocks.data.lowerBound)
        }
        let bytes = try blocks.read(atMost: part.byteCount - self.partPosition)
        self.partPosition += Int64(bytes.count)
        self.byteOffset = offset &+ Int64(bytes.count)
        return (bytes, offset)
    }

    /// Appends bytes of a file without holes straight from the base, as ``TarBlocks/readDirectly(into:)`` does.
    mutating func readDirectly(_ blocks: TarBlocks, into output: inout OutputRawSpan) throws(BlobError) -> Int {
        guard !self.isSparse else { return 0 }
        let count = try blocks.readDirectly(into: &output)
        self.partPosition += Int64(count)
        self.byteOffset += Int64(count)
        return count
    }

    /// Returns the part that the next bytes belong to; nil after the last one.
    private mutating func currentPart(in blocks: TarBlocks) -> TarSparsePart? {
        guard let parts else { return blocks.data.isEmpty ? nil : TarSparsePart(byteOffset: 0, byteCount: .max) }
        while self.partIndex < parts.count {
            let part = parts[self.partIndex]
            if self.partPosition < part.byteCount { return part }
            self.partIndex += 1
            self.partPosition = 0
        }
        return nil
    }

    private static func lengthError(in blocks: TarBlocks) -> BlobError {
        BlobError(
            .corrupted, "The lengths of the parts of the sparse file do not add up to its bytes in the archive.",
            byteOffset: blocks.data.lowerBound)
    }

    /// Reads the blocks after a GNU header that continue its list of parts; returns their length in bytes.
    mutating func takeSparseBlocks(in blocks: TarBlocks) throws(BlobError) -> Int64 {
        var byteCount: Int64 = 0
        while true {
            let offset = Int64(TarHeader.byteCount) + byteCount
            guard let block = try blocks.block(at: offset) else { throw blocks.isTruncated }
            self.parts?.append(contentsOf: TarSparsePart.parts(in: block, at: 0, count: 21))
            byteCount += Int64(TarHeader.byteCount)
            guard self.parts?.count ?? 0 <= TarSparsePart.maximumCount,
                byteCount <= Int64(TarSparsePart.maximumCount) * 24
            else {
                throw BlobError(
                    .limitExceeded, "The sparse file has more parts than the limit of \(TarSparsePart.maximumCount).",
                    byteOffset: blocks.nextOffset + offset)
            }
            if block.block[504] == 0 { return byteCount }
        }
    }

    /// Reads the list of format 1.0, which takes whole blocks before the bytes.
    private mutating func readMap(in blocks: TarBlocks) throws(BlobError) {
        self.hasMapInData = false
        var map = TarSparseMap()
        let start = blocks.data.lowerBound
        while true {
            guard !blocks.data.isEmpty else {
                throw BlobError(.corrupted, "The map of the sparse file has no end.", byteOffset: start)
            }
            let place = blocks.data.lowerBound
            for (position, byte) in try blocks.read().enumerated() where try map.take(byte) {
                blocks.skipBlocks(place + Int64(position) + 1 - start, from: start)
                self.parts = map.parts
                return
            }
        }
    }
}

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
