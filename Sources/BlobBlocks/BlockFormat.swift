import BlobCore
import BlobIndex

/// A format whose blocks can be decoded apart from each other.
struct BlockFormat: Sendable {
    /// True to deliver bytes of the first block before all of it is verified: its place is certain, and it may be long.
    let streamsFirst: Bool
    /// Returns the blocks as the compressed data list them; nil when they do not.
    let table: @Sendable (BlockBase) throws -> BlockTable?
    /// Returns a finder of the blocks from a start on, for data that do not list them; nil when the format has none.
    let scan: (@Sendable (BlockBase, BlockScan) throws -> (any BlockFinder)?)?
    /// Makes a block from its compressed bytes, or from the first of them when it is streamed.
    let makeBlock:
        @Sendable (_ bytes: [UInt8], _ table: BlockTable, _ index: Int, _ context: BlobContext) throws -> Block

    /// Returns true when the data of a format may be in blocks that they do not list.
    static func mayNotListBlocks(_ scheme: String) -> Bool { ["bzip2", "zstd"].contains(scheme) }

    /// Returns the format with a scheme; nil when there is none, or when its library cannot be loaded.
    static func named(_ scheme: String) -> BlockFormat? {
        switch scheme {
        case "xz": .xz
        case "zstd": .zstd
        case "bzip2": .bzip2
        default: nil
        }
    }
}

/// A place to begin a search for blocks, and the way to report the blocks behind it.
struct BlockScan: Sendable {
    let start: RestartPoint
    /// The decoded offset that is wanted: blocks that end before it need not be decoded.
    let byteOffset: Int64
    /// Called with the start of each block that is passed over.
    let found: @Sendable (RestartPoint) -> Void
}

/// Returns the name of a kind of check in the header of an xz stream (The .xz File Format, 2.1.1.2); nil for none, and
/// for kinds that decoders do not know and so do not verify.
package func xzCheckName(_ kind: Int) -> String? {
    switch kind {
    case 1: "CRC-32"
    case 4: "CRC-64"
    case 10: "SHA-256"
    default: nil
    }
}
