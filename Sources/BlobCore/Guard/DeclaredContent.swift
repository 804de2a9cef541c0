/// The declared content of a plugin's reader: its identity, its length, and the offset of the opening (C5, C8).
struct DeclaredContent {
    private let validator: BlobValidator?
    /// True once the reader is open and its info passed the checks.
    private(set) var isKnown = false
    private(set) var byteCount: Int64?

    init(matching validator: BlobValidator?) { self.validator = validator }

    mutating func check(_ info: BlobInfo, at byteOffset: Int64) throws(BlobError) {
        if let byteCount = info.byteCount, byteCount < 0 {
            throw BlobError(.misbehavingPlugin, "A byte count of \(byteCount) was declared (C8).")
        }
        try info.check(byteOffset: byteOffset, matching: self.validator)
        (self.byteCount, self.isKnown) = (info.byteCount, true)
    }

    func checkBytes(upTo byteOffset: Int64) throws(BlobError) {
        if let byteCount, byteOffset > byteCount {
            throw BlobError(.misbehavingPlugin, "More bytes came than the \(byteCount) that were declared (C8).")
        }
    }

    func checkEnd(at byteOffset: Int64) throws(BlobError) {
        guard let byteCount, byteOffset != byteCount else { return }
        let found = "The end came after \(byteOffset) of \(byteCount) declared bytes, without an error (C8)."
        throw BlobError(.misbehavingPlugin, found)
    }
}
