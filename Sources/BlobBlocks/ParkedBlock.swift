/// The rest of a block that a reader left before its end, for the next reader of the same source.
///
/// Whoever skips a part of a block by opening another reader does not decode the bytes before it twice.
struct ParkedBlock: Sendable {
    let block: OpenBlock
    /// The offset of the first byte of the block.
    let startOffset: Int64

    /// The offset of the next byte that ``block`` decodes.
    var byteOffset: Int64 { self.startOffset + self.block.byteCount }
}
