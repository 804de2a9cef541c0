import BlobStreams

/// Goes through the headers of a 7z alone: nothing is decoded, as long as nobody wants to.
///
/// The bytes of a symbolic link are what it leads to, so the library decodes them for its header. Where it cannot, as
/// it skipped what is before them (see ``ArchiveFormat/mustNotSkip``), the archive is gone through once more from its
/// beginning, and everything in it is read.
final class HeaderWalker: MemberWalker {
    private let format: ArchiveFormat
    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private var walker: ArchiveWalker
    private var isReading = false

    init(
        _ format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) {
        self.format = format
        self.base = base
        self.context = context
        self.walker = try ArchiveWalker(format, over: base, context)
    }

    var baseInfo: BlobInfo { self.walker.baseInfo }
    var isSequential: Bool { self.walker.isSequential }
    var index: Int { self.walker.index }
    var place: Int64? { self.walker.place }
    var entry: ArchiveEntry { self.walker.entry }
    func go(to place: Int64, index: Int) { self.walker.go(to: place, index: index) }
    func isNamed(_ name: [UInt8]) -> Bool { self.walker.isNamed(name) }
    func finish() throws(BlobError) { try self.walker.finish() }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        preconditionFailure("Bytes are read by another walker.")
    }

    func advance() throws(BlobError) -> Bool {
        guard !self.isReading else { return try self.readOn() }
        do throws(BlobError) {
            return try self.walker.advance()
        } catch  where error.isAboutFormat && !self.isSequential {
            self.isReading = true
            let index = self.index
            self.walker = try ArchiveWalker(self.format, over: self.base, self.context)
            while self.index < index { guard try self.readOn() else { return false } }
            return try self.readOn()
        }
    }

    /// What is damaged in the bytes of members does no harm to their headers.
    private func readOn() throws(BlobError) -> Bool {
        if self.index >= 0, self.entry.hasBytes, !self.entry.member.isEncrypted { try? self.walker.dropData() }
        return try self.walker.advance()
    }
}
