import BlobStreams

/// Finds the block that a decoded byte is in, from header to header, without decoding.
///
/// Goes by what each block says of its lengths; of those that are passed over nothing is verified.
struct BlockWalk {
    /// The last place that was reached: in front of a block, or of what is none.
    private(set) var point = RestartPoint.start

    /// Walks until the block that has `byteOffset`, or what is no block, begins at ``point``.
    ///
    /// - Parameter reader: At the start of the compressed bytes.
    /// - Complexity: O(blocks before the offset): two system calls for each, a microsecond or two.
    init(_ reader: BlobGuardedReader, to byteOffset: Int64) throws {
        var header = try reader.bytes(atMost: BlockHeader.usualByteCount)
        // The last four bytes of a block are its decoded length (ISIZE); the next header is read with them.
        while let block = BlockHeader(header),
            try reader.skip(Int64(block.byteCount - BlockHeader.usualByteCount - 4))
        {
            let next = try reader.bytes(atMost: 4 + BlockHeader.usualByteCount)
            guard next.count >= 4 else { return }
            let byteCount = next[..<4].reversed().reduce(0) { $0 << 8 | Int64($1) }
            guard byteCount <= BlockHeader.maximumByteCount, self.point.byteOffset + byteCount <= byteOffset else {
                return
            }
            self.point.byteOffset += byteCount
            self.point.bitOffset += Int64(block.byteCount) * 8
            header = Array(next[4...])
        }
    }
}
