import BlobCore

/// A cursor over the stored bytes of a member and their offsets in the file.
struct TarMemberData {
    /// The regions of a sparse file; nil for a file without holes.
    var regions: [TarRegion]?
    /// True until the list of the regions, which precedes the bytes, is read.
    var hasMapInData = false
    private var regionIndex = 0
    private var regionPosition: Int64 = 0
    /// The offset in the file after the last byte returned.
    private(set) var byteOffset: Int64 = 0

    var isSparse: Bool { self.regions != nil || self.hasMapInData }

    /// Returns the next bytes and their offset in the file; nil at the end.
    mutating func next(in blocks: TarBlocks) throws(BlobError) -> (UnsafeRawBufferPointer, byteOffset: Int64)? {
        if self.hasMapInData { try self.readMap(in: blocks) }
        guard let region = self.currentRegion(in: blocks) else {
            guard blocks.data.isEmpty || self.regions == nil else { throw Self.lengthError(in: blocks) }
            return nil
        }
        guard !blocks.data.isEmpty else { throw Self.lengthError(in: blocks) }
        let (offset, overflows) = region.byteOffset.addingReportingOverflow(self.regionPosition)
        guard !overflows, region.byteOffset >= 0 else {
            throw BlobError(
                .corrupted, "A part of the sparse file is out of range.", byteOffset: blocks.data.lowerBound)
        }
        let bytes = try blocks.read(atMost: region.byteCount - self.regionPosition)
        self.regionPosition += Int64(bytes.count)
        self.byteOffset = offset &+ Int64(bytes.count)
        return (bytes, offset)
    }

    /// Appends bytes of a file without holes straight from the base, using ``TarBlocks/readDirectly(into:)``.
    mutating func readDirectly(_ blocks: TarBlocks, into output: inout OutputRawSpan) throws(BlobError) -> Int {
        guard !self.isSparse else { return 0 }
        let count = try blocks.readDirectly(into: &output)
        self.regionPosition += Int64(count)
        self.byteOffset += Int64(count)
        return count
    }

    /// Returns the region of the next bytes; nil after the last region.
    private mutating func currentRegion(in blocks: TarBlocks) -> TarRegion? {
        guard let regions else { return blocks.data.isEmpty ? nil : TarRegion(byteOffset: 0, byteCount: .max) }
        while self.regionIndex < regions.count {
            let region = regions[self.regionIndex]
            if self.regionPosition < region.byteCount { return region }
            self.regionIndex += 1
            self.regionPosition = 0
        }
        return nil
    }

    private static func lengthError(in blocks: TarBlocks) -> BlobError {
        BlobError(
            .corrupted, "The lengths of the parts of the sparse file do not add up to its length in the archive.",
            byteOffset: blocks.data.lowerBound)
    }

    /// Parses the blocks after a GNU header that continue its list of regions; returns their length in bytes.
    mutating func takeSparseBlocks(in blocks: TarBlocks) throws(BlobError) -> Int64 {
        var byteCount: Int64 = 0
        while true {
            let offset = Int64(TarHeader.byteCount) + byteCount
            guard let block = try blocks.block(at: offset) else { throw blocks.truncationError }
            self.regions?.append(contentsOf: TarRegion.regions(in: block, at: 0, count: 21))
            byteCount += Int64(TarHeader.byteCount)
            guard self.regions?.count ?? 0 <= TarRegion.maximumCount,
                byteCount <= Int64(TarRegion.maximumCount) * 24
            else {
                throw BlobError(
                    .limitExceeded, "The sparse file has more parts than the limit of \(TarRegion.maximumCount).",
                    byteOffset: blocks.nextOffset + offset)
            }
            if block.block[504] == 0 { return byteCount }
        }
    }

    /// Parses the list of format 1.0, which occupies whole blocks before the bytes.
    private mutating func readMap(in blocks: TarBlocks) throws(BlobError) {
        self.hasMapInData = false
        var map = TarSparseMap()
        let start = blocks.data.lowerBound
        while true {
            guard !blocks.data.isEmpty else {
                throw BlobError(.corrupted, "The map of the sparse file is incomplete.", byteOffset: start)
            }
            let place = blocks.data.lowerBound
            for (position, byte) in try blocks.read().enumerated() where try map.parse(byte) {
                blocks.skipBlocks(place + Int64(position) + 1 - start, from: start)
                self.regions = map.regions
                return
            }
        }
    }
}

/// A region of a sparse file that is not a hole.
struct TarRegion: Equatable {
    /// The maximum number of regions in a file; each takes 16 bytes of memory.
    static let maximumCount = 500_000

    /// The offset from the beginning of the file.
    let byteOffset: Int64
    let byteCount: Int64

    /// Returns the regions in a GNU header or in a block that continues it, each stored as an offset and a length of 12
    /// bytes.
    static func regions(in header: TarHeader, at start: Int, count: Int) -> [TarRegion] {
        var regions: [TarRegion] = []
        for index in 0..<count where header.block[start + 24 * index] != 0 {
            let place = start + 24 * index
            regions.append(
                TarRegion(byteOffset: header.number(place, 12), byteCount: header.number(place + 12, 12)))
        }
        return regions
    }
}

/// A parser for the list of format 1.0: decimal numbers, each followed by a line feed.
///
/// The first is the number of pairs of offset and length that follow; the list is padded to whole blocks.
struct TarSparseMap {
    /// The maximum length of a line, which is a number that fits in 64 bits.
    private static let maximumLineByteCount = 20

    private var line: [UInt8] = []
    private var pairCount: Int64?
    private var byteOffset: Int64?
    private(set) var regions: [TarRegion] = []

    /// Parses the next byte; returns true if the list is complete.
    mutating func parse(_ byte: UInt8) throws(BlobError) -> Bool {
        guard byte == 0x0A else {
            self.line.append(byte)
            guard self.line.count <= Self.maximumLineByteCount else { throw self.malformedMapError }
            return false
        }
        guard let number = decimal(self.line[...]) else { throw self.malformedMapError }
        self.line.removeAll(keepingCapacity: true)
        if self.pairCount == nil {
            guard number <= TarRegion.maximumCount else {
                throw BlobError(
                    .limitExceeded, "The sparse file has more parts than the limit of \(TarRegion.maximumCount).")
            }
            self.pairCount = number
        } else if let offset = self.byteOffset {
            self.regions.append(TarRegion(byteOffset: offset, byteCount: number))
            self.byteOffset = nil
        } else {
            self.byteOffset = number
        }
        return Int64(self.regions.count) == self.pairCount
    }

    private var malformedMapError: BlobError { BlobError(.corrupted, "The map of the sparse file is malformed.") }
}
