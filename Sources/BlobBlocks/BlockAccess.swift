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
        var parked: OpenBlock?
        var expected: (BlockIndex, Int)?
        // Starts that depend on an index are not kept as those that were found.
        let found: @Sendable (RestartPoint) -> Void = { if index == nil { facts?.reached.append($0) } }
        if let table = facts?.table {
            guard table.count > 1 else { return nil }
            let number = table.index(of: byteOffset)
            parked = facts?.parked.take()
            if let rest = parked,
                number == table.count || table.points[number].byteOffset != rest.startOffset
                    || rest.byteOffset > byteOffset
            {
                parked = nil
            }
            finder = try TableFinder(
                base, table, from: parked == nil ? number : number + 1, makeBlock: format.makeBlock)
        } else {
            var start = facts?.reached.last(before: byteOffset) ?? .start
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
            finder, layer: self.scheme, info: info, at: start, countingFrom: facts?.table == nil ? start : byteOffset,
            streamsFirst: format.streamsFirst, expecting: expected, recording: recording, base.context, found: found,
            after: parked,
            park: { block in facts?.parked.withLock { $0 = block } }, judge: judge)
        return .stream(stream, startingAt: start)
    }

    /// Returns the facts known about the content of the base.
    private func facts(_ base: BlockBase) throws -> Facts? {
        guard let format = BlockFormat.named(self.scheme) else { return nil }
        let makeFacts = { Facts(table: try format.table(base)) }
        if let facts = try self.learned.facts(of: base.info, make: makeFacts) { return facts }
        // Without a validator nothing is kept, and only a table is of use.
        let facts = try makeFacts()
        return facts.table == nil ? nil : facts
    }
}

/// The compressed bytes of a base with random access.
package struct BlockBase: Sendable {
    let source: any BlobInputStreamDataSource
    package let info: BlobInfo
    let byteCount: Int64
    let context: BlobContext

    /// Creates the compressed bytes of `source`; nil when that has no random access or an unknown length.
    ///
    /// - Parameter info: The current info of `source`, whose content all readers must have.
    package init?(_ source: any BlobInputStreamDataSource, _ info: BlobInfo, _ context: BlobContext) {
        guard source.traits.contains(.repeatable), info.isRandomAccess, let byteCount = info.byteCount,
            // The number of its bits is a number, too.
            byteCount <= .max / 8
        else { return nil }
        (self.source, self.info, self.byteCount, self.context) = (source, info, byteCount, context)
    }

    /// Opens a reader from an offset on.
    func open(at byteOffset: Int64) throws(BlobError) -> BlobReader {
        try self.source.open(at: byteOffset, matching: self.info.validator, context: self.context)
    }

    /// Returns bytes from an offset on; fewer only at the end.
    func bytes(at byteOffset: Int64, count: Int) throws(BlobError) -> [UInt8] {
        let reader = try self.open(at: byteOffset)
        defer { reader.close() }
        return try reader.bytes(atMost: count)
    }
}

extension BlobReader {
    /// Reads up to the end, for the checks that the base makes there; returns true when all bytes are zeros.
    func drain() throws -> Bool {
        var areZeros = true
        while case let bytes = try self.bytes(atMost: 64 * 1024), !bytes.isEmpty {
            areZeros = areZeros && bytes.allSatisfy { $0 == 0 }
        }
        return areZeros
    }
}

extension Collection<UInt8> {
    /// The little-endian number in these bytes, at most eight.
    var littleEndian: UInt64 { self.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}

/// The compressed bytes that a finder has read, and not passed over yet.
struct FinderInput {
    /// The number of bytes that the base is read at once.
    private static let pieceByteCount = 256 * 1024

    let base: BlobReader
    private(set) var bytes: [UInt8] = []
    /// The offset of the first of ``bytes`` in the compressed data.
    private(set) var byteOffset: Int64

    init(_ base: BlockBase, at byteOffset: Int64) throws(BlobError) {
        self.base = try base.open(at: byteOffset)
        self.byteOffset = byteOffset
    }

    /// Reads until there are `count` bytes; returns false when the base has fewer.
    mutating func fill(_ count: Int) throws(BlobError) -> Bool {
        while self.bytes.count < count {
            let more = try self.base.bytes(atMost: max(Self.pieceByteCount, count - self.bytes.count))
            guard !more.isEmpty else { return false }
            self.bytes += more
        }
        return true
    }

    mutating func drop(_ count: Int) {
        self.bytes.removeFirst(count)
        self.byteOffset += Int64(count)
    }
}
