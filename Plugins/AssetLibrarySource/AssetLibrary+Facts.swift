package import BlobCore
import Foundation

extension AssetLibrary {
    /// Reads the facts of the originals that were imported by an older version, or without a helper.
    ///
    /// An original that cannot be opened is left as it is.
    ///
    /// - Parameter helper: The path of the helper; nil to look for it.
    /// - Returns: The number of originals whose facts were read.
    /// - Throws: ``BlobError/Code/unavailable`` when there is no helper, or its library is missing: then the facts of
    ///   headers are stored; ``BlobError/Code/permissionDenied`` when the library was opened for reading; errors of the
    ///   catalogue and of the context.
    /// - Complexity: O(originals without facts), with one process for all.
    @discardableResult
    package func readFacts(
        helper: String? = nil, context: BlobContext = BlobContext()
    ) throws(BlobError) -> Int {
        try self.checkCanWrite()
        let facts = FactReader(path: helper, context)
        var count = 0
        do {
            try self.catalogue.forEachOriginal(where: Catalogue.lacksFacts) { original in
                try context.check()
                guard let file = try? OriginalFile(self.folder.path(ofStored: original.path)) else { return }
                let (media, isWhole) = try facts.describe(file)
                try self.catalogue.write {
                    try Catalogue.setFacts(media, isWhole: isWhole, sha256: original.sha256, $0)
                }
                if isWhole { count += 1 }
            }
        } catch {
            throw BlobError(wrapping: error)
        }
        if let missing = facts.missing { throw missing }
        return count
    }
}
