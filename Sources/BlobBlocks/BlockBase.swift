package import BlobCore
import BlobIndex

/// The compressed bytes of a base with random access.
package struct BlockBase: Sendable {
    let source: any BlobInputStreamDataSource
    package let info: BlobInfo
    let byteCount: Int64
    let context: BlobContext

    /// Creates access to the compressed bytes of `source`; returns nil if `source` lacks random access or a known
    /// length.
    ///
    /// - Parameter info: The current info of `source`; all readers must have the content that it describes.
    package init?(_ source: any BlobInputStreamDataSource, _ info: BlobInfo, _ context: BlobContext) {
        guard source.traits.contains(.repeatable), info.isRandomAccess, let byteCount = info.byteCount,
            // The number of bits must not overflow either.
            byteCount <= .max / 8
        else { return nil }
        (self.source, self.info, self.byteCount, self.context) = (source, info, byteCount, context)
    }

    /// Opens a reader from an offset on.
    func open(at byteOffset: Int64) throws(BlobError) -> BlobReader {
        try self.source.open(at: byteOffset, matching: self.info.validator, context: self.context)
    }

    /// Returns bytes from an offset on; fewer only at the end.
    func bytes(at byteOffset: Int64, count: Int) throws(BlobError) -> [UInt8] {
        try self.source.bytes(at: byteOffset, count: count, matching: self.info.validator, self.context)
    }
}

extension BlobReader {
    /// Reads to the end, which runs the final checks of the base; returns true if all bytes are zeros.
    func drain() throws -> Bool {
        var areZeros = true
        try self.forEachPiece { bytes in areZeros = areZeros && bytes.allSatisfy { $0 == 0 } }
        return areZeros
    }
}

/// The compressed bytes that a finder has read but not consumed.
struct FinderInput {
    /// The number of bytes in one read of the base.
    private static let pieceByteCount = 256 * 1024

    let base: BlobReader
    private(set) var bytes: [UInt8] = []
    /// The offset of the first of ``bytes`` in the compressed data.
    private(set) var byteOffset: Int64

    init(_ base: BlockBase, at byteOffset: Int64) throws(BlobError) {
        self.base = try base.open(at: byteOffset)
        self.byteOffset = byteOffset
    }

    /// Reads until `count` bytes are available; returns false if the base has fewer.
    mutating func fill(_ count: Int) throws(BlobError) -> Bool {
        while self.bytes.count < count {
            let more = try self.base.bytes(atMost: max(Self.pieceByteCount, count - self.bytes.count))
            guard !more.isEmpty else { return false }
            self.bytes += more
        }
        return true
    }

    mutating func drop(_ count: Int) {
        self.bytes.removeFirst(count)
        self.byteOffset += Int64(count)
    }
}
