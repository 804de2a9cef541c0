import BlobStreams
import CryptoDigest
import Foundation

/// The SHA-256 of each block of an original, from the front; the last block may be shorter.
///
/// With them a range is checked before its first byte is given out, for the cost of the blocks that it touches.
struct BlockDigests: Equatable, Sendable {
    /// Fits the second-level cache beside the page cache's copy of it, and the buffers of those who copy: with 1 MiB,
    /// whole reads take a tenth longer. Large enough that the digests of 5 GiB are 640 KiB.
    static let blockByteCount = 256 << 10

    private static let digestByteCount = 32

    /// One behind the other.
    private let digests: [UInt8]

    var byteCount: Int { self.digests.count }

    fileprivate init(digests: [UInt8]) { self.digests = digests }

    /// The digests that a catalogue holds for an original; nil for what is damaged, or of another original.
    init?(stored: [UInt8], byteCount: Int64, sha256: [UInt8]) {
        let block = Int64(Self.blockByteCount)
        let count = byteCount / block + (byteCount % block > 0 ? 1 : 0)
        let digests = stored.prefix(max(0, stored.count - Self.digestByteCount))
        guard Int64(digests.count) == count * Int64(Self.digestByteCount) else { return nil }
        self.digests = Array(digests)
        guard self.stored(sha256: sha256) == stored else { return nil }
    }

    /// As the catalogue holds them: followed by a digest of the original's and of theirs, which binds them together.
    func stored(sha256: [UInt8]) -> [UInt8] { self.digests + Self.sha256(sha256 + self.digests) }

    /// The digest of the block with this number, from 0; empty past the last.
    subscript(_ block: Int) -> ArraySlice<UInt8> {
        self.digests.dropFirst(block * Self.digestByteCount).prefix(Self.digestByteCount)
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var hasher = CryptoDigest.sha256.makeHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finalize()
    }
}

/// Computes the SHA-256 of all bytes and of each block, in one pass.
struct BlockHasher {
    private var whole = CryptoDigest.sha256.makeHasher()
    /// Of the block that is not whole yet; nil in the first one, of which ``whole`` is the digest.
    private var block: (any BlobHasher)?
    private var blockRest = BlockDigests.blockByteCount
    private var digests: [UInt8] = []

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            if self.blockRest == 0 { self.endBlock() }
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(self.blockRest))
            self.whole.update(part)
            self.block?.update(part)
            self.blockRest -= part.count
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        }
    }

    /// The last call.
    mutating func finalize() -> (sha256: [UInt8], blocks: BlockDigests) {
        if !self.digests.isEmpty || self.blockRest < BlockDigests.blockByteCount { self.endBlock() }
        return (self.whole.finalize(), BlockDigests(digests: self.digests))
    }

    private mutating func endBlock() {
        // A copy: the computation of the whole goes on.
        var block = self.block ?? self.whole
        self.digests += block.finalize()
        self.block = CryptoDigest.sha256.makeHasher()
        self.blockRest = BlockDigests.blockByteCount
    }
}
