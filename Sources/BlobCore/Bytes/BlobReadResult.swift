/// The outcome of a read.
public enum BlobReadResult: Sendable {
    /// At least one byte was appended.
    case bytes
    /// There are no more bytes, and all checks at the end passed.
    case end
    /// Nothing is available yet: the slot of the stream fires when it is.
    case notYet

    /// Moves as many of `bytes` as fit to `output`, and removes them from the front.
    ///
    /// - Parameters:
    ///   - bytes: A value that is its own slice type, such as `Data` or `ArraySlice<UInt8>`.
    ///   - output: The memory to which the bytes are appended.
    /// - Returns: ``bytes`` when at least one byte was moved; ``end`` when there were none.
    public static func moving<Bytes: Collection<UInt8>>(
        _ bytes: inout Bytes, to output: inout OutputRawSpan
    ) -> BlobReadResult where Bytes.SubSequence == Bytes {
        guard !bytes.isEmpty else { return .end }
        let part = bytes.prefix(output.freeCapacity)
        if part.withContiguousStorageIfAvailable({ output.append(contentsOf: UnsafeRawBufferPointer($0)) }) == nil {
            for byte in part { output.append(byte) }
        }
        bytes.removeFirst(part.count)
        return .bytes
    }
}
