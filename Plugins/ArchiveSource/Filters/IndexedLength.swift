internal import BlobBlocks
import BlobCore

/// Compares the length of decoded bytes with that in an index, which may be the index of other bytes.
struct IndexedLength: BlobInspector {
    let index: BlockIndex
    /// The info of the decoded bytes, with the length in the index.
    let info: BlobInfo

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        let end = byteOffset + Int64(bytes.byteCount)
        guard isLast ? end == self.index.byteCount : end <= self.index.byteCount else { throw self.disproved() }
        return 0..<bytes.byteCount
    }

    /// Returns the error. An offset within the length in the index and past the end of the data disproves the index.
    func reported(_ error: BlobError) -> BlobError { error.code == .invalidArgument ? self.disproved() : error }

    private func disproved() -> BlobError {
        self.index.disprove()
        return BlobError(
            .changed, "The index of these blocks has another length than the data, and is no longer used.")
    }
}
