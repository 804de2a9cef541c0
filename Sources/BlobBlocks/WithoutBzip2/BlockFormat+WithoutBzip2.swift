extension BlockFormat {
    /// Nil: this build has no libbz2.
    static let bzip2: BlockFormat? = nil
}
