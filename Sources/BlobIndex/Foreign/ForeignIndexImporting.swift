package import BlobCore

/// A source or container that can make an index with the one of another tool.
package protocol ForeignIndexImporting: Sendable {
    /// Decodes everything once, compares each point of `index` with it, and makes an index of its own.
    ///
    /// - Returns: True when there is an index now; false when none can be kept.
    /// - Throws: ``BlobError/Code/inconsistent`` when a point is wrong, and nothing is written then; errors of the
    ///   content, of reading `index` and of writing.
    func importIndex(_ index: ForeignIndex, _ context: BlobContext) throws -> Bool
}
