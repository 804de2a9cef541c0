#if Photos
import BlobCore
import CryptoDigest
import Foundation

/// The SHA-256 of each block of an original, in order; the last block may be shorter.
///
/// With the digests, a range can be verified before its first byte is delivered, at the cost of reading whole blocks.
struct BlockDigests: Equatable, Sendable {
    /// The length of a block in bytes.
    ///
    /// Small enough that a block and its copy in the page cache fit in the second-level cache, along with the buffer of
    /// a caller that copies: with 1 MiB, whole reads take a tenth longer. Large enough that the digests of 5 GiB take
    /// only 640 KiB.
    static let blockByteCount = 256 << 10

    private static let digestByteCount = 32

    /// The concatenated digests.
    private let digests: [UInt8]

    var byteCount: Int { self.digests.count }

    fileprivate init(digests: [UInt8]) { self.digests = digests }

    /// Creates the digests of an original from the bytes in a catalogue; returns nil if the bytes are damaged or belong
    /// to another original.
    init?(stored: [UInt8], byteCount: Int64, sha256: [UInt8]) {
        let block = Int64(Self.blockByteCount)
        let count = byteCount / block + (byteCount % block > 0 ? 1 : 0)
        let digests = stored.prefix(max(0, stored.count - Self.digestByteCount))
        guard Int64(digests.count) == count * Int64(Self.digestByteCount) else { return nil }
        self.digests = Array(digests)
        guard self.serialized(sha256: sha256) == stored else { return nil }
    }

    /// Returns the bytes to store in the catalogue: the digests, followed by a SHA-256 over the original's digest and
    /// all block digests, which binds them together.
    func serialized(sha256: [UInt8]) -> [UInt8] { self.digests + (sha256 + self.digests).sha256 }

    /// Returns the digest of the block with this number, counting from 0; empty past the last block.
    subscript(_ block: Int) -> ArraySlice<UInt8> {
        self.digests.dropFirst(block * Self.digestByteCount).prefix(Self.digestByteCount)
    }
}

/// A hasher that computes the SHA-256 of all bytes and of each block, in one pass.
struct BlockHasher {
    private var whole = CryptoDigest.sha256.makeHasher()
    /// The hasher of the incomplete block; nil in the first block, for which ``whole`` is used.
    private var block: (any BlobHasher)?
    private var remainingInBlock = BlockDigests.blockByteCount
    private var digests: [UInt8] = []

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            if self.remainingInBlock == 0 { self.endBlock() }
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(self.remainingInBlock))
            self.whole.update(part)
            self.block?.update(part)
            self.remainingInBlock -= part.count
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        }
    }

    /// Returns the digests. No other call may follow.
    mutating func finalize() -> (sha256: [UInt8], blocks: BlockDigests) {
        if !self.digests.isEmpty || self.remainingInBlock < BlockDigests.blockByteCount { self.endBlock() }
        return (self.whole.finalize(), BlockDigests(digests: self.digests))
    }

    private mutating func endBlock() {
        // Copied, because the hash of the whole file continues.
        var block = self.block ?? self.whole
        self.digests += block.finalize()
        self.block = CryptoDigest.sha256.makeHasher()
        self.remainingInBlock = BlockDigests.blockByteCount
    }
}

extension [UInt8] {
    /// The SHA-256 of the bytes.
    var sha256: [UInt8] { CryptoDigest.sha256.digest(of: self) }
}
#endif
