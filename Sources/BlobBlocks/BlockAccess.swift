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

    /// True when an index of the blocks may be of use, because the data may not list them.
    package var isIndexable: Bool { BlockFormat.mayNotListBlocks(self.scheme) }

    /// Returns the blocks that the data list; nil when they do not, or list them wrongly.
    ///
    /// - Throws: Errors of the base.
    /// - Complexity: Reads the table, once for each content that has a validator.
    package func table(_ base: BlockBase) throws -> BlockTable? { try self.facts(base)?.table }

    /// Returns the decoded bytes from an offset on; nil when the data are not in blocks that are worth it.
    ///
    /// - Parameters:
    ///   - info: The info of the decoded bytes.
    ///   - index: The index of blocks that the data do not list; nil when there is none, or nothing may depend on it.
    ///   - recording: Records the blocks of a reader from the beginning, unless the data list them; nil for none.
    ///   - judge: Returns a body that delivers the bytes from an offset on and decodes in another way, for data that are
    ///     not as expected.
    package func body(
        _ base: BlockBase, at byteOffset: Int64, info: BlobInfo, index: BlockIndex? = nil,
        recording: BlockRecording? = nil, judge: @escaping (Int64) throws -> BlobBody
    ) throws -> BlobBody? {
        guard let format = BlockFormat.named(self.scheme) else { return nil }
        let facts = try self.facts(base)
        let finder: (any BlockFinder)?
        var parked: ParkedBlock?
        var expected: ExpectedBlocks?
        // Starts that depend on an index are not kept as those that were found.
        let found: @Sendable (BlockStart) -> Void = { if index == nil { facts?.starts.append($0) } }
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
        } else if let index {
            let number = index.index(of: byteOffset)
            expected = ExpectedBlocks(index, from: number)
            let start = index.entries[number].start
            finder = try format.scan?(base, BlockScan(start: start, byteOffset: start.byteOffset, found: found))
        } else {
            let start = facts?.starts.last(before: byteOffset) ?? .beginning
            finder = try format.scan?(base, BlockScan(start: start, byteOffset: byteOffset, found: found))
        }
        guard let finder else { return nil }
        let start = parked?.byteOffset ?? finder.byteOffset
        let stream = BlockStream(
            // Without a table the blocks before the offset are decoded, ahead too.
            finder, layer: self.scheme, info: info, at: start, countingFrom: facts?.table == nil ? start : byteOffset,
            streamsFirst: format.streamsFirst, expecting: expected, recording: recording, base.context, found: found,
            after: parked,
            park: { block in facts?.parked.withLock { $0 = block } }, judge: judge)
        return .stream(stream, startingAt: start)
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
