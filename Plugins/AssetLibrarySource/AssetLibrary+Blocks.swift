import BlobStreams
import Foundation
import GRDB

extension AssetLibrary {
    /// The digests of an asset's blocks: from the catalogue, or else computed once and stored, or kept where that fails.
    ///
    /// - Parameter computing: Reads the original.
    /// - Throws: ``BlobError/Code/checksumMismatch`` when the original that was read is not the one that was imported.
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
            // Nobody is kept from reading by it: the library may lie on a medium that cannot be written.
            self.unstoredBlocks.withLock { kept in
                if kept.values.reduce(0, { $0 + $1.byteCount }) >= Self.unstoredByteLimit { kept = [:] }
                kept[asset.sha256] = blocks
            }
        }
        return blocks
    }

    /// How many bytes of digests are kept in memory: those of half a terabyte.
    private static let unstoredByteLimit = 16 << 20
}

extension Catalogue {
    /// Nil when there are none, or none that belong to the original.
    fileprivate func blocks(of asset: Asset) throws(BlobError) -> BlockDigests? {
        let stored = try self.read { db in
            // A catalogue of the first version has no such column.
            let columns = try db.columns(in: "original")
            guard columns.contains(where: { $0.name == "block_sha256" }) else { return Data?.none }
            let sql = "SELECT block_sha256 FROM original WHERE sha256 = ?"
            return try Row.fetchOne(db, sql: sql, arguments: [Data(asset.sha256)]).flatMap { row in
                Data.fromDatabaseValue(row["block_sha256"] ?? .null)
            }
        }
        return stored.flatMap { BlockDigests(stored: Array($0), byteCount: asset.byteCount, sha256: asset.sha256) }
    }

    fileprivate func setBlocks(_ blocks: BlockDigests, of asset: Asset) throws(BlobError) {
        try self.write { db in
            try db.execute(
                sql: "UPDATE original SET block_sha256 = ? WHERE sha256 = ?",
                arguments: [Data(blocks.stored(sha256: asset.sha256)), Data(asset.sha256)])
        }
    }
}
