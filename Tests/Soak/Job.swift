import BlobStreamsStandard
import BlobTestSupport
import Foundation

/// One reading of one blob, all of which follows from its seed.
struct Job {
    let seed: UInt64

    /// Runs, and adds the outcome to the tally.
    func run(_ blobs: [KnownBlob], scratch: String, _ tally: Locked<Tally>) {
        var random = SplitMix64(seed: self.seed)
        guard let blob = Self.choose(blobs, using: &random), let fault = Fault.allCases.randomElement(using: &random),
            let consumer = Consumer.allCases.randomElement(using: &random)
        else { return }
        // Most of the faults need a whole reading to be noticed.
        let isWhole = consumer.readsFromStart || !random.next().isMultiple(of: 3)
        let offset = isWhole ? 0 : Int.random(in: 0...blob.bytes.count, using: &random)
        let cancellation = BlobCancellation()
        var context = BlobContext(cancellation: cancellation)
        context.mayBlock = true
        if fault == .late { context.deadline = .now + .microseconds(Int.random(in: 0...20_000, using: &random)) }
        let end = fault == .cancelled ? Int.random(in: 0...blob.bytes.count, using: &random) : .max
        var checker = Checker(blob.bytes, from: offset, isStrict: !fault.spoilsBytes)
        let what = "seed \(self.seed): \(blob.name), \(fault), \(consumer), from \(offset)"
        do {
            guard
                let source = try fault.source(
                    of: blob, isWhole: isWhole && consumer != .seekingStream, context, using: &random)
            else { return }
            var isCancelled = false
            try consumer.read(source, &checker, context, scratch: scratch, using: &random) { count in
                guard !isCancelled, count >= end else { return }
                isCancelled = true
                DispatchQueue.global().async { cancellation.cancel() }
            }
            tally.withLock { $0.endCount += 1 }
        } catch let error as WrongBytes {
            tally.withLock { $0.wrong.append("\(what): \(error)") }
        } catch {
            let error = BlobError(wrapping: error)
            tally.withLock { tally in
                if fault.codes.contains(error.code) {
                    tally.add(error.code)
                } else {
                    tally.wrong.append("\(what): \(error)")
                }
            }
        }
        let byteCount = Int64(checker.byteCount)
        tally.withLock { tally in
            tally.jobCount += 1
            tally.faultyJobCount += fault == .none ? 0 : 1
            tally.byteCount += max(0, byteCount)
        }
    }

    /// Those that start a process are rarer.
    private static func choose(_ blobs: [KnownBlob], using random: inout SplitMix64) -> KnownBlob? {
        let blob = blobs.randomElement(using: &random)
        return blob?.isCostly == true && random.next() % 8 != 0 ? blobs.first : blob
    }
}
