import BlobCore
import CArchive

/// A walker over an archive that libarchive reads.
final class ArchiveWalker: MemberWalker {
    private let handle: ArchiveHandle
    private let format: ArchiveFormat
    private let context: BlobContext
    private var current: ArchiveEntry?
    /// The offset in the member after the last byte that was returned.
    private var dataEnd: Int64 = 0

    let baseInfo: BlobInfo
    let isSequential: Bool

    init(
        _ format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) {
        let input = try ArchiveInput(base, context)
        self.baseInfo = input.info
        self.isSequential = !input.hasRandomAccess
        self.format = format
        self.context = context
        do throws(BlobError) {
            self.handle = try ArchiveHandle(input, label: "\(format.rawValue) archive", configure: format.enable)
        } catch {
            input.close()
            throw error
        }
    }

    var index: Int { self.current?.member.index ?? -1 }
    var place: Int64? { nil }
    func go(to place: Int64, index: Int) { preconditionFailure("This walker has no places.") }
    func isNamed(_ name: [UInt8]) -> Bool { self.current?.member.name == name }

    var entry: ArchiveEntry {
        guard let current else { preconditionFailure("There is no current member yet.") }
        return current
    }

    func advance() throws(BlobError) -> Bool {
        try self.context.check()
        var entry: OpaquePointer?
        let status = try self.handle.call(toleratingWarnings: true) { blob_archive_read_next_header($0, &entry) }
        guard status != ARCHIVE_EOF, let entry else { return false }
        let warning = status == ARCHIVE_WARN ? self.handle.message ?? "a warning without a reason" : nil
        let index = self.index + 1
        self.dataEnd = 0
        self.current = self.handle.ask { _ in ArchiveEntry(entry, index: index, warning: warning) }
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        while true {
            var start: UnsafeRawPointer?
            var count = 0
            var byteOffset: Int64 = 0
            let status = try self.handle.call { blob_archive_read_data_block($0, &start, &count, &byteOffset) }
            if status == ARCHIVE_EOF {
                // In a WARC, libarchive counts the two line ends after a record, whether they exist or not; in a RAR 5,
                // it leaves the offset of the end unset.
                let end = self.format == .warc ? self.dataEnd : max(byteOffset, self.dataEnd)
                return (UnsafeRawBufferPointer(start: nil, count: 0), end)
            }
            if count > 0 {
                self.dataEnd = byteOffset &+ Int64(count)
                return (UnsafeRawBufferPointer(start: start, count: count), byteOffset)
            }
            try self.context.check()
        }
    }

    func finish() throws(BlobError) {
        if self.isSequential { try self.handle.input.drain() }
    }
}
