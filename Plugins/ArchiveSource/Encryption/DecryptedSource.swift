import BlobCore

/// The content of an encrypted packed stream of a 7z. Any offset costs the decryption of the block at it.
struct DecryptedSource: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let byteCount: Int64
    private let key: AES256
    private let initialVector: [UInt8]

    /// - Parameters:
    ///   - base: The encrypted bytes.
    ///   - packedByteCount: Their number.
    ///   - byteCount: The length of the content, which the base has in whole blocks.
    /// - Returns: Nil when the base is too short for the content.
    init?(
        _ base: any BlobInputStreamDataSource, packedByteCount: UInt64, byteCount: UInt64, _ key: AES256,
        _ initialVector: [UInt8]
    ) {
        let blocks = packedByteCount / UInt64(AES256.blockByteCount) * UInt64(AES256.blockByteCount)
        guard byteCount <= blocks, let byteCount = Int64(exactly: byteCount) else { return nil }
        (self.base, self.byteCount, self.key, self.initialVector) = (base, byteCount, key, initialVector)
    }

    var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        self.decryption(from: 0).info(of: try self.base.info(context))
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try BlobInfo(byteCount: self.byteCount).check(byteOffset: opening.byteOffset, matching: nil)
        let blockByteCount = Int64(AES256.blockByteCount)
        // A block is decrypted with the encrypted block before it.
        let start = max(0, opening.byteOffset / blockByteCount - 1) * blockByteCount
        let base = try self.base.open(at: start, matching: opening.validator, context: opening.context)
        return .transform(base, self.decryption(from: start), startingAt: start)
    }

    private func decryption(from byteOffset: Int64) -> Decryption {
        Decryption(
            key: self.key, byteCount: self.byteCount, byteOffset: byteOffset, previous: self.initialVector)
    }
}

/// Decrypts whole blocks, and drops what fills up the last ones behind the content.
private struct Decryption: BlobTransform {
    let key: AES256
    let byteCount: Int64
    /// The offset of the next byte.
    var byteOffset: Int64
    /// The encrypted block before it.
    var previous: [UInt8]

    /// The key is not part of the validator: the source lives no longer than the reader of a folder.
    func info(of base: BlobInfo) -> BlobInfo {
        BlobInfo(byteCount: self.byteCount, validator: base.validator, isRandomAccess: base.isRandomAccess)
    }

    mutating func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep {
        let rest = Int(clamping: self.byteCount - self.byteOffset)
        guard rest > 0 else {
            input = RawSpan()
            return isLast ? .end : .needsInput
        }
        let count = min(input.byteCount, output.freeCapacity) / AES256.blockByteCount * AES256.blockByteCount
        guard count > 0 else {
            guard isLast else { return .needsInput }
            throw BlobError(
                .truncated, "The encrypted bytes end early.", byteOffset: self.byteOffset + Int64(input.byteCount))
        }
        input.extracting(first: count).withUnsafeBytes { _ = output.append(contentsOf: $0) }
        output.withUnsafeMutableBytes { buffer, initializedCount in
            let blocks = buffer[(initializedCount - count)..<initializedCount]
            self.key.decrypt(UnsafeMutableRawBufferPointer(rebasing: blocks), after: &self.previous)
            initializedCount -= max(count - rest, 0)
        }
        input = input.extracting(droppingFirst: count)
        self.byteOffset += Int64(count)
        return input.byteCount < AES256.blockByteCount ? .needsInput : .full
    }
}
