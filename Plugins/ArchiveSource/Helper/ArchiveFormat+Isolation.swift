import BlobCore
import BlobHelper

extension ArchiveFormat {
    /// The formats whose archives, or some of them, are decoded where ``ArchiveIsolation`` says: the foreign ones, and
    /// 7z for its rare coders.
    package static let isolated = Self.foreign.union([.sevenzip])

    /// Returns a walker over an archive of a foreign format, which is decoded where its source says.
    func isolatedWalker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        let walker = try self.walker(
            over: (base as? IsolatedSource)?.underlying ?? base, base.archiveIsolation, context)
        return self == .rar ? try RARWalker(walker, over: base, context) : walker
    }

    /// Returns a walker over an archive that is decoded at a place.
    func walker(
        over base: any BlobInputStreamDataSource, _ isolation: ArchiveIsolation, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        switch isolation.place {
        case .helper(let path, let arguments):
            guard let found = HelperLocation.archives.find(path) else {
                throw HelperLocation.archives.isMissing(path, self)
            }
            return try HelperWalker(self, over: base, context, found, arguments)
        case .helperIfFound:
            if let found = HelperLocation.archives.find() { return try HelperWalker(self, over: base, context, found) }
            return try ForeignWalker(self, over: base, context)
        case .inProcess: return try ForeignWalker(self, over: base, context)
        }
    }
}

extension BlobInputStreamDataSource {
    /// The place where an archive in this source is decoded.
    var archiveIsolation: ArchiveIsolation {
        if let inOrder = self as? InOrderSource { return inOrder.underlying.archiveIsolation }
        return (self as? IsolatedSource)?.isolation ?? .helper
    }
}
