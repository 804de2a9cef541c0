import BlobCore

extension ArchiveFormat {
    /// Returns a walker over an archive of this format.
    func walker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        if self == .tar { return try TarWalker(over: base, context) }
        if self == .sevenzip { return try SevenZipWalker(over: base, context) }
        if self.isForeign { return try self.isolatedWalker(over: base, context) }
        if self == .cpio { return try CpioWalker(over: base, context) }
        return try ArchiveWalker(self, over: base, context)
    }
}
