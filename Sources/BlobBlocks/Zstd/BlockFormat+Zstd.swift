import BlobCore
import CZstd

extension BlockFormat {
    /// The frames of Zstandard, decoded by libzstd; nil when it cannot be loaded.
    static let zstd: BlockFormat? = {
        guard blob_zstd_load() == nil else { return nil }
        return BlockFormat(
            streamsFirst: false, table: { try BlockTable.zstd($0) }, scan: { try ZstdFinder($0, $1) }
        ) { bytes, table, index, context in
            let (entry, byteCount) = (table.entries[index], table.byteCount(of: index))
            if case .data(_, let window, _, _) = ZstdFrame(bytes.prefix(ZstdFrame.maximumHeaderByteCount)) {
                try context.checkMemory(window, for: "A frame of the Zstandard data")
            }
            let expected = entry.detail >> 32 == 1 ? UInt32(truncatingIfNeeded: entry.detail) : nil
            return Block(bytes: bytes, byteCount: byteCount, memoryByteCount: bytes.count + 2 * Int(byteCount)) {
                () throws(BlobError) in
                let decoder = try ZstdDecoder()
                return if let expected { SummedDecoder(decoder, expected: expected) } else { decoder }
            }
        }
    }()
}
