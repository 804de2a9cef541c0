package import BlobCore
import BlobHelper
import HelperExchange

extension ArchiveFormat {
    /// The formats whose archives, or some of them, are decoded where ``ArchiveIsolation`` says: the foreign ones, and
    /// 7z for its rare coders.
    package static let isolated = Self.foreign.union([.sevenzip])

    /// Returns how the system confines the helper, in words, by starting one.
    package static func helperConfinement(_ context: BlobContext) throws(BlobError) -> String {
        guard let path = HelperLocation.archives.find() else { return "none: \(HelperLocation.archives.searched())" }
        let confinement = try HelperProcess(path, [Self.xar.rawValue], context).confinement()
        return self.helperConfinement(missing: HelperConfinement.all.subtracting(confinement).rawValue)
    }

    /// Returns how the system confines a helper, in words, from the value of ``BlobEvent/Kind/helperStarted``.
    package static func helperConfinement(missing: Int64) -> String {
        HelperConfinement.all.subtracting(HelperConfinement(rawValue: missing)).missing
            .map { "not confined by the system: \($0)" } ?? "confined"
    }

    /// Returns a walker over an archive of a foreign format, which is decoded where its source says.
    func isolatedWalker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        let (isolation, whole) = (base.archiveIsolation, (base as? IsolatedSource)?.underlying ?? base)
        if self == .iso {
            return try ISOWalker.walker(over: whole, context) { whole throws(BlobError) in
                try self.walker(over: whole, isolation, context)
            }
        }
        let walker = try self.walker(over: whole, isolation, context)
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
            return try HelperWalker(self, over: base, context, found, arguments, needsConfinement: true)
        case .helperIfFound:
            if let found = HelperLocation.archives.find() {
                return try HelperWalker(self, over: base, context, found, needsConfinement: false)
            }
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
