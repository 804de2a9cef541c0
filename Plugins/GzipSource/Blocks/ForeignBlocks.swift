import BlobCore
internal import BlobIndex

/// The starts of blocks in an index of `bgzip`, of which only those are used that the blocks before them confirm.
///
/// The index alone may be that of an older version of the data, and the lengths in a block that is not decoded may be
/// damaged. A start is used where both agree: where the sums of the compressed lengths (BSIZE) and of the decoded
/// lengths (ISIZE) of all blocks before it are those of the index, which was made from the decoded data. Its block and
/// the blocks behind it are then decoded, and verified by their checksums, as without the index. At the first
/// difference the index is not used any more.
final class ForeignBlocks: Sendable {
    private enum State {
        case unknown
        case known([MemberStart])
        /// There is none, or it is not that of this content.
        case useless
    }

    private let load: @Sendable () throws(BlobError) -> ForeignIndex?
    private let state = Locked(State.unknown)

    /// The number of bytes that the base is read at once.
    private static let pieceByteCount = 256 * 1024

    /// - Parameter load: Loads the index of another tool; returns nil when there is none.
    init(_ load: @escaping @Sendable () throws(BlobError) -> ForeignIndex?) { self.load = load }

    /// Returns the starts up to a decoded byte that are confirmed.
    ///
    /// - Parameters:
    ///   - byteOffset: The decoded byte that is wanted.
    ///   - start: A start that is known to be right.
    ///   - base: A reader of the compressed data from `start` on, which is closed; called when there is an index.
    /// - Complexity: Reads the compressed data up to the block of `byteOffset`.
    func starts(
        upTo byteOffset: Int64, from start: MemberStart, _ base: () throws -> BlobGuardedReader
    ) throws -> [MemberStart] {
        let known = try self.known()
        guard let first = known.firstIndex(where: { $0.byteOffset > start.byteOffset }),
            known[first].byteOffset <= byteOffset
        else { return [] }
        let base = try base()
        defer { base.close() }
        var (walk, confirmed) = (BlockWalk(base, at: start), [MemberStart]())
        for expected in known[first...] where expected.byteOffset <= byteOffset {
            while walk.start.compressedByteOffset < expected.compressedByteOffset, try walk.advance() {}
            guard walk.start == expected else {
                self.state.withLock { $0 = .useless }
                return []
            }
            confirmed.append(expected)
        }
        return confirmed
    }

    private func known() throws -> [MemberStart] {
        switch self.state.withLock({ $0 }) {
        case .known(let starts): return starts
        case .useless: return []
        case .unknown: break
        }
        var index: ForeignIndex?
        do throws(BlobError) {
            index = try self.load()
        } catch {
            // A damaged index counts as missing.
            guard error.code == .corrupted || error.code == .unsupported else { throw error }
        }
        guard let index, index.format == .bgzip else {
            self.state.withLock { $0 = .useless }
            return []
        }
        let starts = index.points.map {
            MemberStart(compressedByteOffset: $0.bitOffset / 8, byteOffset: $0.byteOffset)
        }
        self.state.withLock { $0 = .known(starts) }
        return starts
    }

    /// A walk from block to block by their lengths.
    private struct BlockWalk {
        private let base: BlobGuardedReader
        /// The start of the next block.
        private(set) var start: MemberStart
        private var piece: [UInt8] = []
        private var pieceStart: Int64

        init(_ base: BlobGuardedReader, at start: MemberStart) {
            (self.base, self.start, self.pieceStart) = (base, start, start.compressedByteOffset)
        }

        /// Goes on to the next block; returns false when there is no whole block.
        mutating func advance() throws -> Bool {
            let place = self.start.compressedByteOffset
            guard let header = BlockHeader(try self.bytes(at: place, BlockHeader.usualByteCount)) else { return false }
            let end = place + Int64(header.byteCount)
            let trailer = try self.bytes(at: end - 4, 4)
            let byteCount = trailer.reversed().reduce(0) { $0 << 8 | Int64($1) }
            guard trailer.count == 4, byteCount <= BlockHeader.maximumByteCount else { return false }
            self.start = MemberStart(
                compressedByteOffset: end, byteOffset: self.start.byteOffset + byteCount)
            return true
        }

        /// Returns bytes at an offset, which never decreases; fewer at the end.
        private mutating func bytes(at byteOffset: Int64, _ count: Int) throws -> ArraySlice<UInt8> {
            while self.pieceStart + Int64(self.piece.count) < byteOffset + Int64(count) {
                let kept = self.piece.dropFirst(Int(min(byteOffset - self.pieceStart, Int64(self.piece.count))))
                let more = try self.base.bytes(atMost: ForeignBlocks.pieceByteCount)
                guard !more.isEmpty else { break }
                self.pieceStart += Int64(self.piece.count - kept.count)
                self.piece = kept + more
            }
            let rest = self.piece.dropFirst(Int(min(byteOffset - self.pieceStart, Int64(self.piece.count))))
            return rest.prefix(count)
        }
    }
}
