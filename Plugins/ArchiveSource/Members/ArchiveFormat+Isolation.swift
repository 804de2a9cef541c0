import BlobCore

extension ArchiveFormat {
    /// Returns a walker over an archive of a foreign format, which is decoded where its source says.
    func isolatedWalker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        let isolated = base as? IsolatedSource
        let base = isolated?.underlying ?? base
        switch (isolated?.isolation ?? .helper).place {
        case .helper(let path, let arguments):
            guard let found = HelperLocation.find(path) else { throw HelperLocation.isMissing(path, self) }
            return try HelperWalker(self, over: base, context, found, arguments)
        case .helperIfFound:
            if let found = HelperLocation.find() { return try HelperWalker(self, over: base, context, found) }
            return try ForeignWalker(self, over: base, context)
        case .inProcess: return try ForeignWalker(self, over: base, context)
        }
    }
}
