import BlobCore
import BlobDeflate
import BlobIndex
import CLzma

extension BlockTable {
    /// The length of a stream's header, and of its footer, in bytes.
    private static let frameByteCount: Int64 = Int64(LZMA_STREAM_HEADER_SIZE)
    /// The maximum size of a stream's index, in bytes, and the maximum number of streams.
    private static let (maximumIndexByteCount, maximumStreamCount) = (UInt64(16 << 20), 4096)

    /// Reads the indexes of the streams of an xz file, from its end (The .xz File Format, 2 and 4).
    ///
    /// - Returns: Nil if the data does not consist of xz streams with valid indexes, or has too many blocks.
    /// - Throws: Errors of the base.
    static func xz(_ base: BlockBase) throws -> BlockTable? {
        var streams: [(start: Int64, check: UInt32, records: [(unpadded: UInt64, decoded: UInt64)])] = []
        var (end, recordCount) = (base.byteCount, 0)
        while end > 0 {
            guard end >= 2 * Self.frameByteCount, end & 3 == 0, streams.count < Self.maximumStreamCount else {
                return nil
            }
            let footer = try base.bytes(at: end - Self.frameByteCount, count: Int(Self.frameByteCount))
            // Padding between and after streams: groups of four zeros.
            if footer.suffix(4) == [0, 0, 0, 0] {
                guard let padded = try Self.endOfStream(before: end, base) else { return nil }
                end = padded
                continue
            }
            var (first, last) = (lzma_stream_flags(), lzma_stream_flags())
            guard footer.count == Self.frameByteCount, blob_lzma_stream_footer_decode(&last, footer) == LZMA_OK,
                last.backward_size <= Self.maximumIndexByteCount
            else { return nil }
            let indexStart = end - Self.frameByteCount - Int64(last.backward_size)
            guard indexStart >= Self.frameByteCount,
                let records = Self.records(try base.bytes(at: indexStart, count: Int(last.backward_size)))
            else { return nil }
            recordCount += records.count
            var start = UInt64(indexStart - Self.frameByteCount)
            for record in records {
                let padded = (record.unpadded + 3) & ~3
                guard padded <= start else { return nil }
                start -= padded
            }
            let header = try base.bytes(at: Int64(start), count: Int(Self.frameByteCount))
            guard recordCount <= Self.maximumCount, header.count == Self.frameByteCount,
                blob_lzma_stream_header_decode(&first, header) == LZMA_OK,
                blob_lzma_stream_flags_compare(&first, &last) == LZMA_OK
            else { return nil }
            streams.append((Int64(start), last.check.rawValue, records))
            end = Int64(start)
        }
        var table = BlockTable()
        for stream in streams.reversed() {
            var start = stream.start + Self.frameByteCount
            for record in stream.records {
                let (end, padding) = (start + Int64(record.unpadded + 3) & ~3, (4 - record.unpadded & 3) & 3)
                let detail = UInt64(stream.check) | padding << Self.paddingShift
                guard table.append(start..<end, byteCount: Int64(record.decoded), detail: detail) else { return nil }
                start = end
            }
        }
        return table
    }

    /// The position of the lowest bit of the padding length in the detail of a block; the bits below it are the kind of
    /// the block's check.
    static let paddingShift: UInt64 = 8

    /// The number of padding bytes per read, and the maximum number accepted.
    private static let (paddingByteCount, maximumPaddingByteCount) = (Int64(64 * 1024), Int64(16 << 20))

    /// Returns the end of the last group of four bytes that are not all zeros; nil if the last
    /// ``maximumPaddingByteCount`` bytes are zeros.
    private static func endOfStream(before end: Int64, _ base: BlockBase) throws -> Int64? {
        var start = end
        while start > 0, end - start < Self.maximumPaddingByteCount {
            let partEnd = start
            start = max(0, start - Self.paddingByteCount)
            let bytes = try base.bytes(at: start, count: Int(partEnd - start))
            if let last = bytes.lastIndex(where: { $0 != 0 }) { return start + Int64(last / 4 * 4 + 4) }
        }
        return nil
    }

    /// Parses an index: zero, the number of records, two numbers for each, padding and a CRC-32.
    private static func records(_ bytes: [UInt8]) -> [(unpadded: UInt64, decoded: UInt64)]? {
        guard bytes.count >= 8, bytes.count & 3 == 0, bytes[0] == 0,
            UInt64(CRC32(of: bytes.dropLast(4)).value) == bytes.suffix(4).littleEndian
        else { return nil }
        return try? Self.records(IndexReader(bytes, 1..<(bytes.count - 4)))
    }

    private static func records(
        _ index: consuming IndexReader
    ) throws(BlobError) -> [(unpadded: UInt64, decoded: UInt64)] {
        // A record takes at least two bytes.
        let count = try index.count(atMost: index.remaining / 2)
        var records: [(unpadded: UInt64, decoded: UInt64)] = []
        records.reserveCapacity(count)
        for _ in 0..<count {
            let (unpadded, decoded) = (try index.readVarint(), try index.readVarint())
            // The smallest block has a header of 8 bytes, and the end of its only filter.
            guard (5...Self.largest) ~= unpadded, decoded <= Self.largest else {
                throw index.failure("has a block with an invalid length")
            }
            records.append((unpadded, decoded))
        }
        guard index.remaining < 4, try index.bytes(count: index.remaining).allSatisfy({ $0 == 0 }) else {
            throw index.failure("has unexpected data after its blocks")
        }
        return records
    }

    /// The maximum value of a number in an index, to which the padding can be added without overflow.
    private static let largest = UInt64(Int64.max) - 4
}
