import BlobCore

/// A walker over the headers of a 7z, which decodes nothing unless it has to.
///
/// The target of a symbolic link is its contents, so libarchive decodes them for the header. If that fails because the
/// bytes before them were skipped (see ``SevenZipWalker``), the walk starts again at the beginning of the archive, and
/// reads all members.
final class HeaderWalker: MemberWalker {
    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private let isolation: ArchiveIsolation?
    private var walker: any MemberWalker
    private var isReading = false

    init(
        over base: any BlobInputStreamDataSource, _ isolation: ArchiveIsolation?, _ context: BlobContext
    ) throws(BlobError) {
        self.base = base
        self.isolation = isolation
        self.context = context
        self.walker = try SevenZipWalker.decoder(over: base, isolation, context)
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
            self.walker = try SevenZipWalker.decoder(over: self.base, self.isolation, self.context)
            while self.index < index { guard try self.readOn() else { return false } }
            return try self.readOn()
        }
    }

    /// Reads the member and advances; damaged bytes of members do not affect their headers.
    private func readOn() throws(BlobError) -> Bool {
        if self.index >= 0, self.entry.hasBytes, !self.entry.member.isEncrypted { try? self.walker.dropData() }
        return try self.walker.advance()
    }
}
