extension BlockFormat {
    /// Nil: this build has no liblzma.
    static let xz: BlockFormat? = nil
}
