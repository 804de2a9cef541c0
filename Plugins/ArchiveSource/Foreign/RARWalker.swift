import BlobCore
import BlobDeflate

/// A walker over a RAR that recognises the encrypted members of version 5, which libarchive takes for damaged or, when
/// they are stored, for right; and compares the checksums of its members, which libarchive omits for stored ones.
///
/// Reads their headers itself, which needs a base that can be opened again.
final class RARWalker: MemberWalker {
    private let base: any MemberWalker
    private var headers: RAR5Headers?
    private var isEncrypted = false
    /// The checksum of the bytes so far, and the one in the header; nil when there is none.
    private var checksum: (value: CRC32, expected: UInt32)?

    init(
        _ walker: any MemberWalker, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) {
        self.base = walker
        self.headers = base.traits.contains(.repeatable) ? try RAR5Headers(base, context) : nil
    }

    var baseInfo: BlobInfo { self.base.baseInfo }
    var isSequential: Bool { self.base.isSequential }
    var index: Int { self.base.index }
    var place: Int64? { nil }
    func go(to place: Int64, index: Int) { preconditionFailure("This walker has no places.") }
    func isNamed(_ name: [UInt8]) -> Bool { self.base.isNamed(name) }

    var entry: ArchiveEntry {
        let entry = self.base.entry
        guard self.isEncrypted else { return entry }
        var member = entry.member
        member.isEncrypted = true
        return ArchiveEntry(member: member, warning: member.headerFault, linkCount: entry.linkCount)
    }

    func advance() throws(BlobError) -> Bool {
        guard try self.base.advance() else { return false }
        let file = try self.headers?.next()
        // Without a header that makes sense, libarchive judges the rest.
        if file == nil { self.headers = nil }
        self.isEncrypted = file?.isEncrypted ?? false
        self.checksum = file?.checksum.map { (CRC32(), $0) }
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        let block = try self.base.nextBlock()
        self.checksum?.value.update(block.bytes)
        if block.bytes.isEmpty, let (value, expected) = self.checksum, value.value != expected {
            throw BlobError(
                .checksumMismatch,
                "The CRC-32 of the member is \(String(value.value, radix: 16)), and its header says "
                    + "\(String(expected, radix: 16)).")
        }
        return block
    }

    func finish() throws(BlobError) { try self.base.finish() }
}
