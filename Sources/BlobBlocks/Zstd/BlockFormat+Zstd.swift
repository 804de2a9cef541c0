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
            var check = expected.map { _ in ZstdFrame.checksumName }
            if case .data(_, _, _, hasChecksum: true) = ZstdFrame(bytes[...]) { check = ZstdFrame.checksumName }
            return Block(
                bytes: bytes, byteCount: byteCount, check: check, memoryByteCount: bytes.count + 2 * Int(byteCount)
            ) { () throws(BlobError) in
                let decoder = try ZstdDecoder()
                return if let expected { SummedDecoder(decoder, expected: expected) } else { decoder }
            }
        }
    }()
}
