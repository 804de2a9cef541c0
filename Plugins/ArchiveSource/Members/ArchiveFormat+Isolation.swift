import BlobCore

extension ArchiveFormat {
    /// Returns a walker over an archive of a foreign format, which is decoded where its source says.
    func isolatedWalker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        let isolated = base as? IsolatedSource
        let base = isolated?.underlying ?? base
        let walker = try self.walker(over: base, (isolated?.isolation ?? .helper).place, context)
        return self == .rar ? try RARWalker(walker, over: base, context) : walker
    }

    private func walker(
        over base: any BlobInputStreamDataSource, _ place: ArchiveIsolation.Place, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        switch place {
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
