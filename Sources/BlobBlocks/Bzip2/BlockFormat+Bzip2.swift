import CBzip2

extension BlockFormat {
    /// The blocks of bzip2, decoded by libbz2; nil when it cannot be loaded.
    static let bzip2: BlockFormat? = {
        guard blob_bzip2_load() == nil else { return nil }
        return BlockFormat(streamsFirst: false, table: { _ in nil }, scan: { try BzipFinder($0, $1) }) { _, _, _, _ in
            preconditionFailure("A bzip2 has no table.")
        }
    }()
}
