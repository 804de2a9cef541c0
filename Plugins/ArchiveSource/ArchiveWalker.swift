import BlobStreams
import CArchive

/// Goes through an archive from member to member; what the rest of this module knows of a parser.
final class ArchiveWalker {
    private let handle: ArchiveHandle
    private let format: ArchiveFormat
    private let context: BlobContext
    private var count = 0

    /// The archive itself, as it was opened.
    let baseInfo: BlobInfo

    /// True when the base is read from one end to the other.
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

    /// The next member; nil at the end of the archive.
    func next() throws(BlobError) -> ArchiveEntry? {
        try self.context.check()
        var entry: OpaquePointer?
        let status = try self.handle.call(toleratingWarnings: true) { archive_read_next_header($0, &entry) }
        guard status != ARCHIVE_EOF, let entry else { return nil }
        defer { self.count += 1 }
        let warning = status == ARCHIVE_WARN ? self.handle.message ?? "a warning without a reason" : nil
        return self.handle.ask { _ in ArchiveEntry(entry, index: self.count, warning: warning) }
    }

    /// Some bytes of the member, which stay where they are until the next call, and their offset in it; what lies
    /// between them is zeros. No bytes at the end of the member, at whose offset it ends.
    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        while true {
            var start: UnsafeRawPointer?
            var count = 0
            var byteOffset: Int64 = 0
            let status = try self.handle.call { archive_read_data_block($0, &start, &count, &byteOffset) }
            if status == ARCHIVE_EOF { return (UnsafeRawBufferPointer(start: nil, count: 0), byteOffset) }
            if count > 0 { return (UnsafeRawBufferPointer(start: start, count: count), byteOffset) }
            try self.context.check()
        }
    }

    /// Reads and drops the bytes of the member.
    func dropData() throws(BlobError) {
        while try !self.nextBlock().bytes.isEmpty { try self.context.check() }
    }

    /// Reads what is behind the last member, if the base is read from one end to the other: its end is checked there.
    func finish() throws(BlobError) {
        if self.isSequential { try self.handle.input.drain() }
    }
}
