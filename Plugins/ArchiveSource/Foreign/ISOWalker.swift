import BlobCore

/// A walker over a disc image that refuses one whose files are in UDF, which libarchive does not read.
final class ISOWalker: MemberWalker {
    private let base: any MemberWalker
    private let volume: DiscVolume
    private var (fileCount, directoryCount) = (0, 0)

    private init(_ walker: any MemberWalker, _ volume: DiscVolume) { (self.base, self.volume) = (walker, volume) }

    /// Returns a walker over a disc image.
    ///
    /// - Parameter makeWalker: Makes the walker of libarchive over the bytes, which it is given anew because the first
    ///   ones were read.
    /// - Throws: ``BlobError/Code/unsupported`` when the catalogue of ISO 9660 is bare beside one of UDF.
    static func walker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext,
        _ makeWalker: (any BlobInputStreamDataSource) throws(BlobError) -> any MemberWalker
    ) throws(BlobError) -> any MemberWalker {
        let (beginning, whole) = try base.peeking(DiscVolume.byteCount, context)
        guard let volume = beginning.withUnsafeBytes({ DiscVolume($0) }) else { return try makeWalker(whole) }
        guard !volume.isBare else { throw volume.isUnsupported }
        return ISOWalker(try makeWalker(whole), volume)
    }

    var baseInfo: BlobInfo { self.base.baseInfo }
    var isSequential: Bool { self.base.isSequential }
    var index: Int { self.base.index }
    var entry: ArchiveEntry { self.base.entry }
    var place: Int64? { nil }
    func go(to place: Int64, index: Int) { preconditionFailure("This walker has no places.") }
    func isNamed(_ name: [UInt8]) -> Bool { self.base.isNamed(name) }

    func advance() throws(BlobError) -> Bool {
        guard try self.base.advance() else {
            guard !self.volume.hasMore(thanFiles: self.fileCount, directories: self.directoryCount) else {
                throw self.volume.isUnsupported
            }
            return false
        }
        if self.entry.member.kind == .directory { self.directoryCount += 1 } else { self.fileCount += 1 }
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        try self.base.nextBlock()
    }

    func finish() throws(BlobError) { try self.base.finish() }
}

extension BlobInputStreamDataSource {
    /// Returns the first bytes, fewer only when the source has fewer, and a source with all bytes, although this one
    /// may be of those that can be read only once.
    fileprivate func peeking(
        _ byteCount: Int, _ context: BlobContext
    ) throws(BlobError) -> (beginning: [UInt8], whole: any BlobInputStreamDataSource) {
        guard !self.traits.contains(.repeatable) else { return (try self.beginning(byteCount, context), self) }
        let reader = try self.open(context: context)
        let beginning: [UInt8]
        do {
            beginning = try reader.peekWaiting(byteCount).withUnsafeBytes { Array($0) }
        } catch {
            throw BlobError(wrapping: error)
        }
        let whole = HandedOver(reader)  // Safe: the walker alone reads it.
        let source = SequentialSource(info: reader.info) { _ in .inspected(whole.value, UnchangedBytes(), startingAt: 0)
        }
        return (beginning, source)
    }
}
