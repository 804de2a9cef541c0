/// The bytes that are to be read and dropped before others are delivered.
struct BytesToSkip {
    /// How many there still are.
    var rest: Int64

    init(_ byteCount: Int64) { self.rest = byteCount }

    /// From here on a call is cheap beside the bytes that it moves.
    private static let sufficientByteCount = 4096

    /// Reads and drops as much as there is now.
    ///
    /// - Parameters:
    ///   - output: Lends its memory, unless it has little; nothing is left in it.
    ///   - byteOffset: Where delivery begins; for the message.
    ///   - read: Reads the next bytes.
    /// - Returns: Nil when all were dropped; `notYet` when there are no more for now.
    /// - Throws: ``BlobError/Code/invalidArgument`` at the end.
    mutating func drop(
        using output: inout OutputRawSpan, before byteOffset: Int64,
        _ read: (inout OutputRawSpan) throws -> BlobReadResult
    ) throws -> BlobReadResult? {
        while self.rest > 0 {
            let wanted = Int(clamping: self.rest)
            var (result, dropped) = (BlobReadResult.end, 0)
            if output.freeCapacity >= min(wanted, Self.sufficientByteCount) {
                dropped = try output.append(atMost: wanted) { result = try read(&$0) }
                output.removeLast(dropped)
            } else {
                try withUnsafeTemporaryAllocation(
                    byteCount: min(wanted, BlobPipe.defaultCapacity), alignment: 16
                ) { buffer in
                    var part = OutputRawSpan(buffer: buffer, initializedCount: 0)
                    result = try read(&part)
                    dropped = part.finalize(for: buffer)
                }
            }
            self.rest -= Int64(dropped)
            switch result {
            case .bytes: continue
            case .notYet: return .notYet
            case .end:
                throw BlobError(
                    .invalidArgument,
                    "The offset \(byteOffset) is past the end of \(byteOffset - self.rest) bytes.")
            }
        }
        return nil
    }
}
