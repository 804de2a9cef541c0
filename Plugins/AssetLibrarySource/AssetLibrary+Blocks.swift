import BlobCore
import Foundation
import GRDB

extension AssetLibrary {
    /// Returns the digests of an asset's blocks.
    ///
    /// Takes them from the catalogue, or computes them once and stores them, or keeps them in memory if storing fails.
    ///
    /// - Parameter computing: Computes the digests by reading the original.
    /// - Throws: ``BlobError/Code/checksumMismatch`` when the original is not the one that was imported, and errors of
    ///   `computing` and of reading the catalogue.
    func blocks(
        of asset: Asset, computing: () throws(BlobError) -> (sha256: [UInt8], blocks: BlockDigests)
    ) throws(BlobError) -> BlockDigests {
        if let blocks = try self.catalogue.blocks(of: asset) { return blocks }
        if let blocks = self.unstoredBlocks.withLock({ $0[asset.sha256] }) { return blocks }
        let (found, blocks) = try computing()
        guard found == asset.sha256 else {
            throw BlobError(
                .checksumMismatch,
                "The original has the SHA-256 \(found.hexadecimal), and was imported with "
                    + "\(asset.sha256.hexadecimal).", byteOffset: 0)
        }
        do {
            if self.access == .writing {
                try self.catalogue.setBlocks(blocks, of: asset)
            } else {
                let catalogue = try Catalogue(in: self.folder.path, isReadOnly: false)
                try catalogue.migrate()
                try catalogue.setBlocks(blocks, of: asset)
            }
        } catch {
            // This must not prevent reading: the library may be on a read-only medium.
            self.unstoredBlocks.withLock { kept in
                if kept.values.reduce(0, { $0 + $1.byteCount }) >= Self.unstoredByteLimit { kept = [:] }
                kept[asset.sha256] = blocks
            }
        }
        return blocks
    }

    /// The number of bytes at which the digests in memory are discarded: those of 128 GiB of originals.
    private static let unstoredByteLimit = 16 << 20
}
