package import BlobCore
import BlobIndex

/// Access to the decoded bytes of one source by its blocks, and the facts learned about them.
///
/// The facts are those of one content: they are dropped when the source has another one.
package final class BlockAccess: Sendable {
    /// The facts learned about one content.
    private final class Facts: Sendable {
        /// The table of the blocks; nil when there is none.
        let table: BlockTable?
        let reached = ReachedPoints()
        /// The block that the last reader left.
        let parked = Locked<OpenBlock?>(nil)

        init(table: BlockTable?) { self.table = table }
    }

    private let scheme: String
    private let learned = LearnedFacts<Facts>()

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
    package func table(_ base: BlockBase) throws -> BlockTable? {
        try BlockFormat.named(self.scheme).flatMap { try self.facts(base, $0).table }
    }

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
        let facts = try self.facts(base, format)
        let finder: (any BlockFinder)?
        var parked: OpenBlock?
        var expected: (BlockIndex, Int)?
        // Starts that depend on an index are not kept as those that were found.
        let found: @Sendable (RestartPoint) -> Void = { if index == nil { facts.reached.append($0) } }
        if let table = facts.table {
            guard table.count > 1 else { return nil }
            let number = table.index(of: byteOffset)
            parked = facts.parked.take()
            if let rest = parked,
                number == table.count || table.points[number].byteOffset != rest.startOffset
                    || rest.byteOffset > byteOffset
            {
                parked = nil
            }
            finder = try TableFinder(
                base, table, from: parked == nil ? number : number + 1, makeBlock: format.makeBlock)
        } else {
            var start = facts.reached.last(before: byteOffset)
            if let index {
                let number = index.points.index(of: byteOffset)
                expected = (index, number)
                start = index.points[number]
            }
            finder = try format.scan?(
                base, BlockScan(start: start, byteOffset: index == nil ? byteOffset : start.byteOffset, found: found))
        }
        guard let finder else { return nil }
        let start = parked?.byteOffset ?? finder.byteOffset
        let stream = BlockStream(
            // Without a table the blocks before the offset are decoded, ahead too.
            finder, layer: self.scheme, info: info, at: start, countingFrom: facts.table == nil ? start : byteOffset,
            streamsFirst: format.streamsFirst, expecting: expected, recording: recording, base.context, found: found,
            after: parked,
            park: { block in facts.parked.withLock { $0 = block } }, judge: judge)
        return .stream(stream, startingAt: start)
    }

    /// Returns the facts known about the content of the base.
    private func facts(_ base: BlockBase, _ format: BlockFormat) throws -> Facts {
        try self.learned.facts(of: base.info) { Facts(table: try format.table(base)) }
    }
}
