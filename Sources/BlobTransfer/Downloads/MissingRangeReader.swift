import BlobCore

/// Reads the missing ranges of a file, one after the other or several concurrently.
///
/// One thread reads all ranges, each over its own connection. When a connection has finished its range, it takes over
/// half of the longest remaining range.
struct MissingRangeReader {
    typealias Run = (start: Int64, end: Int64?)

    /// The minimum length for which a range is worth a request of its own.
    static let minimumByteCount: Int64 = 2 << 20

    /// A range that is being read.
    private struct OpenRange {
        let reader: BlobReader
        var place: PartialFile.Place
        /// The offset after the last byte; nil to read to the end of the content and perform the checks there.
        var endOffset: Int64?
    }

    private let source: any BlobInputStreamDataSource
    private let info: BlobInfo
    private let file: PartialFile
    private let context: BlobContext
    private let onBytes: (_ count: Int64, _ total: Int64?) -> Void
    private var runs: [Run]
    private var openRanges: [OpenRange] = []
    private var connectionCount: Int
    private let signal = WaitSignal()
    private let buffer = Window(256 * 1024)

    /// True if each range is read over its own connection.
    var isParallel: Bool { self.context.readsPartsInParallel }

    /// - Parameters:
    ///   - connectionCount: The number of connections, at least 1, for a source that benefits from several.
    ///   - onBytes: Called with the number of bytes received, which is negative for bytes that must be read again, and
    ///     with the length of the content; nil while the length is unknown.
    init(
        of file: PartialFile, _ source: any BlobInputStreamDataSource, _ info: BlobInfo, connectionCount: Int,
        _ context: BlobContext, onBytes: @escaping (_ count: Int64, _ total: Int64?) -> Void
    ) {
        (self.source, self.info, self.file, self.onBytes) = (source, info, file, onBytes)
        let runs = file.missingRanges
        let missing = runs.reduce(0) { $0 + ($1.end ?? info.byteCount ?? $1.start) - $1.start }
        // Reading an origin in parts checks as much as a single pass does; members and filters have their own checks.
        let isOrigin =
            source.locator.map { !$0.scheme.contains("+") && $0.selectors.isEmpty } ?? false
            && source.first(ofType: (any BlobLayer).self) == nil
        let mayBeParallel =
            isOrigin && info.isRandomAccess && info.validator?.isStrong == true
            && source.traits.isSuperset(of: [.neverBlocks, .repeatable])
        let wanted = Int64(max(1, connectionCount))
        let count = mayBeParallel ? min(wanted, missing / Self.minimumByteCount) : 0
        self.connectionCount = max(1, Int(count))
        var context = context
        // Otherwise, a single range would use several connections to prefetch pieces.
        context.readsPartsInParallel = count >= min(2, wanted)
        (self.context, self.runs) = (context, runs)
        if self.connectionCount > 1 { self.split(missing) }
    }

    /// Splits the missing bytes among the connections.
    private mutating func split(_ missing: Int64) {
        let share = PartialFile.blockEnd(missing / Int64(self.connectionCount))
        self.runs = self.runs.flatMap { run in
            stride(from: run.start, to: run.end ?? self.info.byteCount ?? run.start, by: Int(share)).map { start in
                let end = start + share
                return (start, end < run.end ?? self.info.byteCount ?? .max ? end : run.end)
            }
        }
    }

    /// Reads all parts.
    mutating func read() throws {
        defer { for range in self.openRanges { range.reader.close() } }
        while true {
            while self.openRanges.count < self.connectionCount, let run = self.nextRun() {
                self.openRanges.append(try self.open(run))
            }
            guard !self.openRanges.isEmpty else { return }
            var isIdle = true
            for index in self.openRanges.indices.reversed() where try self.readPiece(at: index) { isIdle = false }
            if isIdle { self.wait() }
        }
    }

    private func wait() {
        for range in self.openRanges { range.reader.whenReadable(BlobWaker { [signal] in signal.signal() }) }
        BlockingPool.runOutside { _ = self.signal.wait(for: nil) }
    }

    /// Returns the next run to read: a missing run or, if none is left, half of the longest part being read; nil if
    /// that part is too short to split.
    private mutating func nextRun() -> Run? {
        if !self.runs.isEmpty { return self.runs.removeFirst() }
        let rests = self.openRanges.map { ($0.endOffset ?? self.info.byteCount ?? 0) - $0.place.byteOffset }
        guard self.isParallel, let index = rests.indices.max(by: { rests[$0] < rests[$1] }),
            rests[index] >= 2 * Self.minimumByteCount
        else { return nil }
        let middle = PartialFile.blockEnd(self.openRanges[index].place.byteOffset + rests[index] / 2)
        defer { self.openRanges[index].endOffset = middle }
        return (middle, self.openRanges[index].endOffset)
    }

    private func open(_ run: Run) throws -> OpenRange {
        let isStrong = self.info.validator?.isStrong ?? !self.info.digests.isEmpty
        let overlap =
            isStrong ? [] : try self.file.bytes(before: run.start, count: DeliveredBytes.comparedTailByteCount)
        if self.isParallel, let end = run.end ?? self.info.byteCount {
            self.source.prepare([run.start..<end], self.context)
        }
        let reader = try self.source.open(
            at: run.start - Int64(overlap.count), matching: self.info.validator, context: self.context)
        guard try reader.bytes(atMost: overlap.count) == overlap else {
            throw BlobError(
                .changed, "The content has changed since the partial download.", operation: "read",
                locator: self.source.locator?.description, byteOffset: run.start)
        }
        return OpenRange(reader: reader, place: PartialFile.Place(at: run.start), endOffset: run.end)
    }

    /// Reads the next bytes of a range, and removes it at its end.
    ///
    /// - Returns: False if no bytes are available yet.
    private mutating func readPiece(at index: Int) throws -> Bool {
        let range = self.openRanges[index]
        let rest = range.endOffset.map { Int(clamping: $0 - range.place.byteOffset) } ?? .max
        do {
            let result = try self.buffer.fill { try range.reader.read(into: &$0, atMost: rest) }
            if result == .notYet { return false }
        } catch let error as BlobError where error.isTransient && self.openRanges.count > 1 {
            // The server may limit the number of connections, so the other connections read this range, too.
            let start = PartialFile.blockStart(range.place.byteOffset)
            self.onBytes(start - range.place.byteOffset, self.info.byteCount)
            self.connectionCount = self.openRanges.count - 1
            self.runs.append((start, range.endOffset))
            self.remove(index)
            return true
        }
        try self.file.append(self.buffer.bytes, at: &self.openRanges[index].place)
        self.onBytes(Int64(self.buffer.count), self.info.byteCount ?? range.reader.info.byteCount)
        if self.buffer.isEmpty || self.buffer.count == rest {
            try self.file.endBlock(at: &self.openRanges[index].place)
            self.remove(index)
        }
        return true
    }

    private mutating func remove(_ index: Int) { self.openRanges.remove(at: index).reader.close() }
}
