import BlobCore
import BlobDeflate

/// Puts bytes into blocks of deflate that are stored, not compressed (RFC 1951, section 3.2.4): a header of 5 bytes,
/// and up to 65,535 bytes. All blocks but the last are full, so that the place of each byte is known.
struct StoredBlocks: BlobTransform {
    /// The maximum length of the bytes of a block.
    static let blockByteCount: Int64 = 65_535
    static let headerByteCount: Int64 = 5

    /// Returns the length of the blocks of some number of bytes.
    static func byteCount(of byteCount: Int64) -> Int64 {
        byteCount + self.headerByteCount * max(1, (byteCount + self.blockByteCount - 1) / self.blockByteCount)
    }

    /// Returns the offset in the bytes, and in the blocks, of the start of the block that contains an offset.
    static func start(of byteOffset: Int64) -> (bytes: Int64, blocks: Int64) {
        let block = byteOffset / (self.blockByteCount + self.headerByteCount)
        return (block * self.blockByteCount, block * (self.blockByteCount + self.headerByteCount))
    }

    private let byteCount: Int64?
    private let pass: EntryPass
    /// The number of bytes of the current block that are still to come.
    private var rest = 0
    private var isInLastBlock = false

    /// - Parameter byteCount: The number of bytes, if it is known.
    init(_ byteCount: Int64?, _ pass: EntryPass) { (self.byteCount, self.pass) = (byteCount, pass) }

    func info(of base: BlobInfo) throws -> BlobInfo {
        try self.pass.check(base)
        return BlobInfo(
            byteCount: self.byteCount.map(Self.byteCount), validator: base.validator,
            isRandomAccess: base.isRandomAccess)
    }

    mutating func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep {
        while true {
            if self.rest == 0 {
                guard !self.isInLastBlock else {
                    guard input.byteCount == 0 else { throw self.pass.surplusError }
                    guard isLast else { return .needsInput }
                    try self.pass.finish()
                    return .end
                }
                // If the length is unknown, a full block is the last one unless another byte arrives.
                guard self.byteCount != nil || isLast || input.byteCount > Int(Self.blockByteCount) else {
                    return .needsInput
                }
                guard output.freeCapacity >= Int(Self.headerByteCount) else { return .full }
                let rest = self.byteCount.map { $0 - self.pass.byteOffset } ?? Int64(input.byteCount)
                self.rest = Int(min(rest, Self.blockByteCount))
                self.isInLastBlock = rest == self.rest && (self.byteCount != nil || isLast)
                output.append(UInt8(self.isInLastBlock ? 1 : 0))
                output.append(UInt16(self.rest).littleEndian, as: UInt16.self)
                output.append((~UInt16(self.rest)).littleEndian, as: UInt16.self)
            }
            let count = min(self.rest, output.freeCapacity, input.byteCount)
            input.extracting(first: count).withUnsafeBytes { bytes in
                self.pass.update(bytes)
                output.append(contentsOf: bytes)
            }
            input = input.extracting(droppingFirst: count)
            self.rest -= count
            guard self.rest == 0 else { return output.freeCapacity == 0 ? .full : .needsInput }
            self.pass.endBlock()
        }
    }
}
