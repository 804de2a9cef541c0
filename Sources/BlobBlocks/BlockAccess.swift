package import BlobCore
import BlobIndex

/// Access to the decoded bytes of one source by its blocks, with a cache of the facts about them.
///
/// The facts describe one version of the content, and are discarded when the content changes.
package final class BlockAccess: Sendable {
    /// The facts about one version of the content.
    private final class Facts: Sendable {
        /// The table of the blocks; nil if the data has none.
        let table: BlockTable?
        let reachedPoints = ReachedPoints()
        /// The unfinished block of the last reader that was closed; nil if it had finished its block.
        let parkedBlock = Locked<OpenBlock?>(nil)

        init(table: BlockTable?) { self.table = table }
    }

    private let scheme: String
    private let cachedFacts = CachedFacts<Facts>()

    /// Creates access by the blocks of a format.
    ///
    /// - Parameter scheme: The scheme of the format. A format without blocks permits no access.
    package init(scheme: String) { self.scheme = scheme }

    /// True if an index of the blocks may be useful, because the data may not list them.
    package var isIndexable: Bool { BlockFormat.mayNotListBlocks(self.scheme) }

    /// Returns the blocks that the data lists; nil if it lists none, or lists them incorrectly.
    ///
    /// - Throws: Errors of the base.
    /// - Complexity: Reads the table. If the content has a validator, the table is read only once for each version of
    ///   the content.
    package func table(_ base: BlockBase) throws -> BlockTable? {
        try BlockFormat.format(named: self.scheme).flatMap { try self.facts(base, $0).table }
    }

    /// Returns a body of the decoded bytes from an offset on; nil if the data has no blocks, or no blocks worth using.
    ///
    /// - Parameters:
    ///   - info: The info of the decoded bytes.
    ///   - index: The index of blocks that the data does not list; nil if no index exists or may be used.
    ///   - recording: The recording of the blocks that a reader from the beginning decodes, unless the data lists them;
    ///     nil to record nothing.
    ///   - makeFallbackBody: A closure that returns a body that decodes the bytes from an offset on in another way, for
    ///     data that is not as expected.
    package func body(
        _ base: BlockBase, at byteOffset: Int64, info: BlobInfo, index: BlockIndex? = nil,
        recording: BlockRecording? = nil, makeFallbackBody: @escaping (Int64) throws -> BlobBody
    ) throws -> BlobBody? {
        guard let format = BlockFormat.format(named: self.scheme) else { return nil }
        let facts = try self.facts(base, format)
        let finder: (any BlockFinder)?
        var parked: OpenBlock?
        var expected: (BlockIndex, Int)?
        // Starts taken from an index are not stored: only decoding proves a start.
        let onRestartPoint: @Sendable (RestartPoint) -> Void = { if index == nil { facts.reachedPoints.append($0) } }
        if let table = facts.table {
            guard table.count > 1 else { return nil }
            let number = table.index(of: byteOffset)
            parked = facts.parkedBlock.take()
            if let rest = parked,
                number == table.count || table.points[number].byteOffset != rest.startOffset
                    || rest.byteOffset > byteOffset
            {
                parked = nil
            }
            finder = try TableFinder(
                base, table, from: parked == nil ? number : number + 1, makeBlock: format.makeBlock)
        } else {
            var start = facts.reachedPoints.last(before: byteOffset)
            if let index {
                let number = index.points.index(of: byteOffset)
                expected = (index, number)
                start = index.points[number]
            }
            finder = try format.scan?(
                base,
                BlockScan(
                    start: start, byteOffset: index == nil ? byteOffset : start.byteOffset,
                    onRestartPoint: onRestartPoint))
        }
        guard let finder else { return nil }
        let start = parked?.byteOffset ?? finder.byteOffset
        let stream = BlockStream(
            // Without a table, the blocks before the offset are decoded too, and on several threads.
            finder, layer: self.scheme, info: info, at: start, countingFrom: facts.table == nil ? start : byteOffset,
            prefersStreaming: format.prefersStreaming, expecting: expected, recording: recording, base.context,
            onRestartPoint: onRestartPoint,
            after: parked,
            park: { block in facts.parkedBlock.withLock { $0 = block } }, makeFallbackBody: makeFallbackBody)
        return .stream(stream, startingAt: start)
    }

    /// Returns the facts known about the content of the base.
    private func facts(_ base: BlockBase, _ format: BlockFormat) throws -> Facts {
        try self.cachedFacts.facts(of: base.info) { Facts(table: try format.table(base)) }
    }
}
