extension BlockFormat {
    /// Nil: this build has no libzstd.
    static let zstd: BlockFormat? = nil
}
