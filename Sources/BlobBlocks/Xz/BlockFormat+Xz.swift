import BlobCore
import CLzma

extension BlockFormat {
    /// The blocks of xz, decoded by liblzma; nil when it cannot be loaded.
    static let xz: BlockFormat? = {
        guard blob_lzma_load() == nil else { return nil }
        return BlockFormat(streamsFirst: true, table: { try BlockTable.xz($0) }, scan: nil) {
            bytes, table, index, context in
            let entry = table.entries[index]
            let unpadded = Int64(entry.compressed.count) - Int64(entry.detail >> BlockTable.paddingShift)
            let byteCount = table.byteCount(of: index)
            let header = Array(bytes.prefix(Int(LZMA_BLOCK_HEADER_SIZE_MAX)))
            // The window is at most as long as the block; usually a quarter of it or more.
            let memory = Int64(bytes.count) + 2 * min(byteCount, Int64(XzDecoder.maximumWindowByteCount))
            return Block(
                bytes: bytes, byteCount: byteCount, check: xzCheckName(Int(entry.detail & 0xFF)),
                memoryByteCount: Int(memory)
            ) { () throws(BlobError) in
                try XzDecoder(
                    header: header, check: UInt32(entry.detail & 0xFF), unpaddedByteCount: unpadded,
                    byteCount: byteCount, context)
            }
        }
    }()
}
