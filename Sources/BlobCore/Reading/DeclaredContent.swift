/// The declared content of a plugin's reader: its identity, its length, and the offset of the opening (C5, C8).
struct DeclaredContent {
    private let validator: BlobValidator?
    /// True once the reader is open and its info passed the checks.
    private(set) var isKnown = false
    private(set) var byteCount: Int64?

    init(matching validator: BlobValidator?) { self.validator = validator }

    mutating func check(_ info: BlobInfo, at byteOffset: Int64) throws(BlobError) {
        if let byteCount = info.byteCount, byteCount < 0 {
            throw BlobError(.misbehavingPlugin, "The declared byte count \(byteCount) is negative (C8).")
        }
        try info.check(byteOffset: byteOffset, matching: self.validator)
        (self.byteCount, self.isKnown) = (info.byteCount, true)
    }

    func checkBytes(upTo byteOffset: Int64) throws(BlobError) {
        if let byteCount, byteOffset > byteCount {
            throw BlobError(.misbehavingPlugin, "The source returned more than the \(byteCount) declared bytes (C8).")
        }
    }

    func checkEnd(at byteOffset: Int64) throws(BlobError) {
        guard let byteCount, byteOffset != byteCount else { return }
        let found = "The end came after \(byteOffset) of \(byteCount) declared bytes, without an error (C8)."
        throw BlobError(.misbehavingPlugin, found)
    }
}

/// The bytes to read and discard before delivery begins.
struct BytesToSkip {
    /// The number of bytes left to skip.
    var remainingByteCount: Int64

    init(_ byteCount: Int64) { self.remainingByteCount = byteCount }

    /// The minimum free space, in bytes, with which a call is cheap relative to the bytes that it moves.
    private static let sufficientByteCount = 4096

    private static let bufferByteCount = 64 * 1024

    /// Reads and discards the bytes that are available now.
    ///
    /// - Parameters:
    ///   - output: The output whose memory is used unless it is small; no bytes are left in it.
    ///   - byteOffset: The offset at which delivery begins, for the message.
    ///   - read: A closure that reads the next bytes.
    /// - Returns: Nil if all bytes were discarded; `notYet` if no more are available now.
    /// - Throws: ``BlobError/Code/invalidArgument`` at the end.
    mutating func drop(
        using output: inout OutputRawSpan, before byteOffset: Int64,
        _ read: (inout OutputRawSpan) throws -> BlobReadResult
    ) throws -> BlobReadResult? {
        while self.remainingByteCount > 0 {
            let wanted = Int(clamping: self.remainingByteCount)
            var (result, dropped) = (BlobReadResult.end, 0)
            if output.freeCapacity >= min(wanted, Self.sufficientByteCount) {
                dropped = try output.append(atMost: wanted) { result = try read(&$0) }
                output.removeLast(dropped)
            } else {
                try withUnsafeTemporaryAllocation(
                    byteCount: min(wanted, Self.bufferByteCount), alignment: 16
                ) { buffer in
                    var part = OutputRawSpan(buffer: buffer, initializedCount: 0)
                    result = try read(&part)
                    dropped = part.finalize(for: buffer)
                }
            }
            self.remainingByteCount -= Int64(dropped)
            switch result {
            case .bytes: continue
            case .notYet: return .notYet
            case .end:
                throw BlobError(
                    .invalidArgument,
                    "The offset \(byteOffset) is past the end of \(byteOffset - self.remainingByteCount) bytes.")
            }
        }
        return nil
    }
}
