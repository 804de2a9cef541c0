package import BlobCore
import BlobTestSupport
import Dispatch
import Foundation

/// An order in which all bytes of a source are read, as one job.
package enum ReadingWay: String, CaseIterable, Sendable {
    /// From the first byte to the end.
    case whole
    /// The same in small reads.
    case small
    /// In ranges in random order, which are prepared.
    case shuffled
    /// In ranges by four threads.
    case parallel

    /// Returns all bytes.
    ///
    /// - Throws: The error of the source; of threads, the first of them.
    package func read(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext = BlobContext(), seed: UInt64 = 40
    ) throws -> [UInt8] {
        switch self {
        case .whole: return try readAll(source.open(context: context))
        case .small: return try readAll(source.open(context: context), inPiecesOf: 1000)
        case .shuffled, .parallel: break
        }
        let byteCount = try source.info(context).byteCount ?? 0
        var random = SplitMix64(seed: seed)
        let ranges = stride(from: 0, to: byteCount, by: 37_001).map { $0..<min($0 + 37_001, byteCount) }
            .shuffled(using: &random)
        let outcomes = Locked<[Int64: Result<Data, any Error>]>([:])
        let read = { @Sendable (range: Range<Int64>) in
            let outcome = Result { try source.slice(range).data(upTo: range.count, context: context) }
            outcomes.withLock { $0[range.lowerBound] = outcome }
        }
        if self == .shuffled {
            source.prepare(ranges, context)
            ranges.forEach(read)
        } else {
            DispatchQueue.concurrentPerform(iterations: 4) { number in
                for index in stride(from: number, to: ranges.count, by: 4) { read(ranges[index]) }
            }
        }
        let pieces = outcomes.withLock { $0 }
        return try pieces.keys.sorted().flatMap { try pieces[$0]?.get() ?? Data() }
    }
}
