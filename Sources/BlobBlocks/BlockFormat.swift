import BlobCore
import BlobIndex

/// A format whose blocks can be decoded independently.
struct BlockFormat: Sendable {
    /// True to deliver bytes of the first block before all of it is verified: its position is certain, and it may be
    /// long.
    let prefersStreaming: Bool
    /// Returns the blocks that the compressed data lists; nil without such a list.
    let table: @Sendable (BlockBase) throws -> BlockTable?
    /// Returns a finder of the blocks from a start on, for data that does not list them; nil if the format has no
    /// finder.
    let scan: (@Sendable (BlockBase, BlockScan) throws -> (any BlockFinder)?)?
    /// Creates a block from its compressed bytes, or from the first of them if it is streamed.
    let makeBlock:
        @Sendable (_ bytes: [UInt8], _ table: BlockTable, _ index: Int, _ context: BlobContext) throws -> Block

    /// Returns true if data in a format may have blocks without listing them.
    static func mayNotListBlocks(_ scheme: String) -> Bool { ["bzip2", "zstd"].contains(scheme) }

    /// Returns the format with a scheme; nil if the scheme is unknown or its library cannot be loaded.
    static func format(named scheme: String) -> BlockFormat? {
        switch scheme {
        case "xz": .xz
        case "zstd": .zstd
        case "bzip2": .bzip2
        default: nil
        }
    }
}

/// The start of a search for blocks, and the closure that reports the blocks found.
struct BlockScan: Sendable {
    let start: RestartPoint
    /// The decoded offset to reach: blocks that end before it need not be decoded.
    let byteOffset: Int64
    /// A closure that is called with the start of each block that is skipped.
    let onRestartPoint: @Sendable (RestartPoint) -> Void
}

/// Returns the name of a kind of check in the header of an xz stream (The .xz File Format, 2.1.1.2); nil for no check,
/// and for unknown kinds, which decoders do not verify.
package func xzCheckName(_ kind: Int) -> String? {
    switch kind {
    case 1: "CRC-32"
    case 4: "CRC-64"
    case 10: "SHA-256"
    default: nil
    }
}
