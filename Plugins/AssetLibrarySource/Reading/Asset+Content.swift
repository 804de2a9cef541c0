import BlobCore

extension Asset {
    /// Returns the range of the block with this number, from 0; empty past the last.
    func block(_ number: Int) -> Range<Int64> {
        let start = min(self.byteCount, Int64(number) * Int64(BlockDigests.blockByteCount))
        return start..<min(self.byteCount, start + Int64(BlockDigests.blockByteCount))
    }

    /// Throws when the content of a version is not that of an earlier look-up.
    ///
    /// - Throws: ``BlobError/Code/changed``, which names the content that the asset has now.
    func check(sameContentAs other: Asset, _ version: AssetSource.Version) throws(BlobError) {
        guard !AssetRecord(self, version).hasContent(of: AssetRecord(other, version)) else { return }
        let act = self.sha256 == other.sha256 ? "edited" : "given another original"
        throw BlobError(
            .changed,
            "The asset was \(act) while it was read: it has generation \(self.generation) with the validator "
                + "\(self.validator.token), and was opened with \(other.generation).", locator: self.locator.text)
    }
}
