internal import BlobBlocks
import BlobCore
import BlobDeflate

/// A walker over the members of a folder of a 7z whose last coder is a branch filter, which liblzma decodes; the coders
/// before it are those of another walker, whose only member is the whole folder.
final class BranchWalker: WalkerLayer {
    let base: any MemberWalker
    private let decoder: BranchDecoder
    private let byteCounts: [UInt64]
    private let checksums: [UInt32?]
    /// The decoded bytes; those before `used` are delivered.
    private var decoded: [UInt8] = []
    private var used = 0
    private var isAtEnd = false
    /// The bytes that were lent last.
    private let lent = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var byteOffset: UInt64 = 0
    private var sum = CRC32()

    private(set) var index = -1

    init(
        _ base: any MemberWalker, _ filter: SevenZipCoders.Branch, byteCounts: [UInt64], checksums: [UInt32?]
    ) throws(BlobError) {
        self.base = base
        (self.byteCounts, self.checksums) = (byteCounts, checksums)
        self.decoder = try BranchDecoder(filter.method, startOffset: filter.startOffset)
        guard try base.advance() else { throw Self.isTooShort }
    }

    deinit { self.lent.deallocate() }

    var entry: ArchiveEntry {
        let byteCount = Int64(clamping: self.byteCounts[self.index])
        return ArchiveEntry(
            member: BlobMember(index: self.index, name: [UInt8(ascii: "m")], byteCount: byteCount))
    }

    var check: String? { self.checksums[self.index] == nil ? nil : "CRC-32" }

    func advance() throws(BlobError) -> Bool {
        if self.index >= 0 { try self.dropData() }
        guard self.index + 1 < self.byteCounts.count else { return false }
        self.index += 1
        (self.byteOffset, self.sum) = (0, CRC32())
        return true
    }

    /// Without a look at the checksum: damage of one member is no reason to refuse the next, which has one of its own.
    func dropData() throws(BlobError) {
        while self.byteOffset < self.byteCounts[self.index] { _ = try self.nextBlock() }
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        let start = Int64(clamping: self.byteOffset)
        let rest = self.byteCounts[self.index] - self.byteOffset
        guard rest > 0 else {
            if let expected = self.checksums[self.index], expected != self.sum.value {
                throw .wrongChecksum(self.sum.value, "the header of the archive", says: expected)
            }
            return self.end(at: start)
        }
        while self.used == self.decoded.count {
            guard !self.isAtEnd else { throw Self.isTooShort }
            let bytes = try self.base.nextBlock().bytes
            self.isAtEnd = bytes.isEmpty
            (self.decoded, self.used) = (try self.decoder.decode(bytes, isLast: self.isAtEnd), 0)
        }
        let count = Int(min(rest, UInt64(min(self.lent.count, self.decoded.count - self.used))))
        self.lent.copyBytes(from: self.decoded[self.used..<(self.used + count)])
        self.used += count
        self.byteOffset += UInt64(count)
        let bytes = UnsafeRawBufferPointer(rebasing: self.lent[..<count])
        self.sum.update(bytes)
        return (bytes, start)
    }

    private static var isTooShort: BlobError {
        BlobError(.truncated, "A folder of the 7z archive has fewer bytes than its members.")
    }
}
