package import BlobCore

/// Access to the decoded bytes of one source by its blocks, and the facts learned about them.
///
/// The facts are those of one content: they are dropped when the source has another one.
package final class BlockAccess: Sendable {
    /// The facts learned about one content.
    private struct Facts: Sendable {
        let validator: BlobValidator
        let statusChangeTime: Int64?
        /// The table of the blocks; nil when there is none.
        let table: BlockTable?
        let starts = BlockStarts()
        /// The block that the last reader left.
        let parked = Locked<ParkedBlock?>(nil)
    }

    private let scheme: String
    private let facts = Locked<Facts?>(nil)

    /// Creates access by the blocks of a format.
    ///
    /// - Parameter scheme: The scheme of the format; with one that has no blocks, there is no access.
    package init(scheme: String) { self.scheme = scheme }

    /// Returns the blocks that the data list; nil when they do not, or list them wrongly.
    ///
    /// - Throws: Errors of the base.
    /// - Complexity: Reads the table, once for each content that has a validator.
    package func table(_ base: BlockBase) throws -> BlockTable? { try self.facts(base)?.table }

    /// Returns a reader of the decoded bytes from an offset on; nil when the data are not in blocks that are worth it.
    ///
    /// - Parameters:
    ///   - info: The info of the decoded bytes.
    ///   - judge: Returns a reader from an offset on that decodes in another way, for data that are not as expected.
    package func reader(
        _ base: BlockBase, at byteOffset: Int64, info: BlobInfo,
        judge: @escaping @Sendable (Int64) throws -> any BlobReader
    ) throws -> (any BlobReader)? {
        guard let format = BlockFormat.named(self.scheme) else { return nil }
        let facts = try self.facts(base)
        let finder: (any BlockFinder)?
        var parked: ParkedBlock?
        if let table = facts?.table {
            guard table.entries.count > 1 else { return nil }
            let index = table.index(of: byteOffset)
            parked = facts?.parked.take()
            if let found = parked,
                index == table.entries.count || table.entries[index].byteOffset != found.startOffset
                    || found.byteOffset > byteOffset
            {
                parked = nil
            }
            finder = try TableFinder(
                base, table, from: parked == nil ? index : index + 1, makeBlock: format.makeBlock)
        } else {
            let start = facts?.starts.last(before: byteOffset) ?? .beginning
            let scan = BlockScan(start: start, byteOffset: byteOffset) { facts?.starts.append($0) }
            finder = try format.scan?(base, scan)
        }
        guard let finder else { return nil }
        let start = parked?.byteOffset ?? finder.byteOffset
        let reader = BlockReader(
            // Without a table the blocks before the offset are decoded, ahead too.
            finder, info: info, at: start, countingFrom: facts?.table == nil ? start : byteOffset,
            streamsFirst: format.streamsFirst, base.context, after: parked,
            park: { block in facts?.parked.withLock { $0 = block } }, judge: judge)
        return reader.skipping(byteOffset - start, from: start)
    }

    /// Returns the facts known about the content of the base.
    private func facts(_ base: BlockBase) throws -> Facts? {
        guard let format = BlockFormat.named(self.scheme) else { return nil }
        guard let validator = base.info.validator else {
            return try format.table(base).map {
                Facts(validator: .weak(""), statusChangeTime: nil, table: $0)
            }
        }
        let known = self.facts.withLock { $0 }
        if let known, known.validator == validator, known.statusChangeTime == base.info.statusChangeTime {
            return known
        }
        let facts = Facts(
            validator: validator, statusChangeTime: base.info.statusChangeTime, table: try format.table(base))
        self.facts.withLock { $0 = facts }
        return facts
    }
}
