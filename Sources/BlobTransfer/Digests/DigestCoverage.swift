import BlobCore
import BlobDeflate

/// Compares the digests that a server states for an object with the bytes that one job's readers deliver, in any order
/// and concurrently.
///
/// A reader that starts at the beginning of a stated range computes the digest of the range with any algorithm. For
/// bytes delivered by other readers, each run has its own checksum if the algorithm's checksums can be combined (CRC).
/// Adjacent runs are merged, and a run that covers a stated range is compared. Other digests (SHA-256, MD5) require the
/// bytes in order, from one reader or several consecutive ones. Bytes that the job has already read are not compared
/// again.
///
/// Memory is bounded: at most 16,384 runs of 40 bytes each are stored. The bytes of any further runs are treated as
/// unread.
final class DigestCoverage: Sendable {
    /// Contiguous bytes within one stated range.
    private struct Run {
        var range: Range<Int64>
        /// The checksum of the bytes; nil if no algorithm supports combining.
        var sum: CyclicSum?
    }

    private struct State {
        /// The runs in order, without overlaps.
        var runs: [Run] = []
        /// Whether the digests of each range that has been read were compared, keyed by the index of the range.
        var proofResults: [Int: Bool] = [:]
        /// The checks of passes that ended early, which continue if the job resumes reading there.
        var interruptedChecks: [StatedDigestCheck] = []
    }

    private static let maximumRunCount = 16_384
    private static let maximumInterruptedCount = 16
    /// The maximum number of bytes that a resumed pass reads again to compare them.
    private static let maximumOverlap = Int64(DeliveredBytes.comparedTailByteCount)

    /// The ranges in order, without gaps; empty if the server states no digests.
    private let ranges: [StatedRange]
    /// The algorithm whose checksums can be combined; nil if the server states no such algorithm.
    private let algorithm: StatedAlgorithm?
    private let state = Locked(State())

    init(_ ranges: [StatedRange]) {
        self.ranges = ranges
        self.algorithm = StatedAlgorithm.allCases.first { algorithm in
            algorithm.sum != nil && ranges.first?.digests.contains { $0.algorithm == algorithm.rawValue } == true
        }
    }

    /// Returns the checks for a pass from an offset: the checks that were interrupted there, and a new check if a
    /// stated range begins there.
    func begin(at byteOffset: Int64) -> [StatedDigestCheck] {
        let new = self.ranges.first { $0.start == byteOffset }?.makeCheck()
        return self.state.withLock { state in
            let isResumed = { (check: StatedDigestCheck) in
                check.start < byteOffset && (0...Self.maximumOverlap).contains(check.reachedOffset - byteOffset)
            }
            defer { state.interruptedChecks.removeAll(where: isResumed) }
            return state.interruptedChecks.filter(isResumed) + [new].compactMap(\.self)
        }
    }

    /// Stores a check of a pass that ended early. If there are too many, discards the oldest check.
    func keep(_ check: StatedDigestCheck) {
        self.state.withLock { state in
            if state.interruptedChecks.count == Self.maximumInterruptedCount { state.interruptedChecks.removeFirst() }
            state.interruptedChecks.append(check)
        }
    }

    /// Adds bytes that a reader is about to deliver, and compares each digest whose range ends within the bytes.
    ///
    /// - Parameters:
    ///   - checks: The checks of the reader's pass. Completed checks are removed.
    ///   - proven: The offset up to which the reader's pass has verified all bytes from the first, and the last digest
    ///     that was compared.
    /// - Returns: The digest that was compared for the whole object, once all of it has been read. The inner optional
    ///   is nil if the digest of a part could not be compared because of the order in which the part was read.
    /// - Throws: ``BlobError/Code/checksumMismatch``.
    func pass(
        _ bytes: UnsafeRawBufferPointer, at byteOffset: Int64, _ checks: inout [StatedDigestCheck],
        _ proven: inout (end: Int64, by: String?)
    ) throws(BlobError) -> String?? {
        var (rest, start, outcome) = (bytes[...], byteOffset, String??.none)
        while !rest.isEmpty {
            let index = self.ranges.partitioningIndex { $0.end.map { start < $0 } ?? true }
            let range = index < self.ranges.count ? self.ranges[index] : nil
            let piece = rest.prefix(range?.end.map { Int(clamping: $0 - start) } ?? rest.count)
            let end = start + Int64(piece.count)
            if let range, range.start == start, !checks.contains(where: { $0.covers(range) }) {
                checks += [range.makeCheck()].compactMap(\.self)
            }
            for index in checks.indices {
                checks[index].append(UnsafeRawBufferPointer(rebasing: piece), at: start)
            }
            var proof: String?
            let sum = checks.first {
                $0.start == range?.start && $0.reachedOffset == end && $0.algorithm == self.algorithm
            }?
            .sum
            for var check in checks where check.reachedOffset == check.end {
                let compared = try check.finish()
                if let range, check.covers(range) { proof = compared }
                if check.start <= proven.end { proven = (max(proven.end, end), compared) }
            }
            checks.removeAll { $0.reachedOffset == $0.end }
            if let range, range.end != nil, let run = self.add(piece, at: start, of: range, prefix: sum) {
                outcome = try self.finish(index, run, proof) ?? outcome
            }
            (rest, start) = (rest.dropFirst(piece.count), end)
        }
        return outcome
    }

    /// Records that a stated range was read, and compares its checksum unless a pass has already compared its digest.
    private func finish(_ index: Int, _ run: Run, _ proof: String?) throws(BlobError) -> String?? {
        var (proof, range) = (proof, self.ranges[index])
        if proof == nil, let sum = run.sum, let algorithm {
            range.digests.removeAll { $0.algorithm != algorithm.rawValue }
            var check = range.makeCheck()
            proof = try check?.finish(sum)
        }
        return self.state.withLock { state in
            state.proofResults[index] = proof != nil
            guard state.proofResults.count == self.ranges.count else { return nil }
            defer { state.proofResults = [:] }
            return .some(state.proofResults.values.contains(false) ? nil : proof)
        }
    }

    /// Adds bytes to the runs. Removes and returns the run that covers the whole stated range once it is complete.
    ///
    /// - Parameter prefix: The checksum of all bytes from the start of the stated range; nil if unknown.
    private func add(
        _ bytes: Slice<UnsafeRawBufferPointer>, at byteOffset: Int64, of range: StatedRange, prefix: CyclicSum?
    ) -> Run? {
        let end = byteOffset + Int64(bytes.count)
        return self.state.withLock { state in
            let first = state.runs.partitioningIndex { $0.range.upperBound > range.start }
            let isPrefix = first < state.runs.count && state.runs[first].range.lowerBound == range.start
            let next = isPrefix ? first + 1 : first
            if let prefix, next == state.runs.count || state.runs[next].range.lowerBound >= end,
                !isPrefix || state.runs[first].range.upperBound <= end
            {
                state.runs.replaceSubrange(first..<next, with: [Run(range: range.start..<end, sum: prefix)])
                Self.join(&state.runs, first, in: range)
            } else {
                var start = byteOffset
                while start < end {
                    let index = state.runs.partitioningIndex { $0.range.upperBound > start }
                    let known = index < state.runs.count ? state.runs[index].range : nil
                    if let known, known.contains(start) {
                        start = known.upperBound
                        continue
                    }
                    let stop = min(end, known?.lowerBound ?? end)
                    guard state.runs.count < Self.maximumRunCount else { break }
                    var sum = self.algorithm?.sum
                    let new = bytes.dropFirst(Int(start - byteOffset)).prefix(Int(stop - start))
                    sum?.update(UnsafeRawBufferPointer(rebasing: new))
                    state.runs.insert(Run(range: start..<stop, sum: sum), at: index)
                    Self.join(&state.runs, index, in: range)
                    start = stop
                }
            }
            guard first < state.runs.count, state.runs[first].range.lowerBound == range.start,
                state.runs[first].range.upperBound == range.end
            else { return nil }
            return state.runs.remove(at: first)
        }
    }

    /// Merges the run at an index with the adjacent runs.
    private static func join(_ runs: inout [Run], _ index: Int, in range: StatedRange) {
        for index in [index, index - 1] where runs.indices.contains(index) && runs.indices.contains(index + 1) {
            let next = runs[index + 1]
            guard runs[index].range.upperBound == next.range.lowerBound, runs[index].range.lowerBound >= range.start,
                next.range.upperBound <= range.end ?? .max
            else { continue }
            runs[index].range = runs[index].range.lowerBound..<next.range.upperBound
            if let sum = next.sum { runs[index].sum?.append(sum, byteCount: Int64(next.range.count)) }
            runs.remove(at: index + 1)
        }
    }
}

/// The coverages of an object by the jobs that read it, ordered by use with the most recent last.
final class DigestCoverages: Sendable {
    private static let maximumCount = 16

    private struct Entry {
        let job: BlobCancellation
        let object: BlobInfo
        let coverage: DigestCoverage
    }

    private let entries = Locked<[Entry]>([])

    /// Returns the coverage of a job, creating one if necessary. If there are too many, discards the least recently
    /// used.
    func coverage(of facts: RemoteFacts, in context: BlobContext) -> DigestCoverage {
        let job = context.cancellation.root
        return self.entries.withLock { entries in
            let index = entries.firstIndex { $0.job === job && $0.object == facts.info }
            let entry =
                index.map { entries.remove(at: $0) }
                ?? Entry(job: job, object: facts.info, coverage: DigestCoverage(facts.statedRanges))
            if entries.count == Self.maximumCount { entries.removeFirst() }
            entries.append(entry)
            return entry.coverage
        }
    }
}
