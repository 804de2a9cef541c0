import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation

/// A source with random bytes, ways and faults, and what may become of it.
///
/// The same seed gives the same source; only the timing of what other threads do differs.
struct RandomRound {
    enum Ending { case success, failure, either }

    let source: any BlobInputStreamDataSource
    let bytes: Data
    let mode: BlobStreamMode
    let context = BlobContext()
    let expected: Ending
    let isRepeatable: Bool
    /// What other threads do meanwhile; to be called when reading is about to begin.
    let start: @Sendable () -> Void
    let description: @Sendable () -> String

    init(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let byteCount = random.byteCount()
        let start = Int.random(in: 0...1000, using: &random)
        let bytes = pattern(start + byteCount).suffix(from: start)
        let base = Base.allCases.randomElement(using: &random) ?? .memory
        let fault = base.fault(byteCount, using: &random)
        let isCancelled = Int.random(in: 0..<20, using: &random) == 0
        var source: any BlobInputStreamDataSource
        var work: @Sendable () -> Void = {}
        switch base {
        case .memory: source = MemorySource(bytes)
        case .generator:
            source = ClosureSource { offset, output, _ in
                _ = bytes.dropFirst(Int(offset)).withUnsafeBytes { output.append(contentsOf: $0) }
            }
        case .pipe:
            let pipe = BlobPipe(capacity: Int.random(in: 1...70_000, using: &random))
            source = pipe.source
            work = Self.production(of: bytes, fault: fault, into: pipe, using: &random)
        }
        if base != .pipe, let fault { source = FaultSource(source, fault) }
        let isEventDriven = base != .pipe && Bool.random(using: &random)
        if isEventDriven { source = source.readingAhead() }
        let mode = random.next() % 2 == 0 ? BlobStreamMode.synchronous : .asynchronous
        if isCancelled {
            work = { [work, cancellation = self.context.cancellation, delay = random.next() % 64] in
                work()
                DispatchQueue.global().async {
                    for _ in 0..<delay { sched_yield() }
                    cancellation.cancel()
                }
            }
        }
        self.source = source
        self.bytes = bytes
        self.mode = mode
        self.isRepeatable = base != .pipe
        self.start = work
        self.expected = fault?.isHarmful == true ? .failure : isCancelled ? .either : .success
        self.description = {
            let traits = [isEventDriven ? "event-driven" : nil, fault.map { "\($0)" }, isCancelled ? "cancelled" : nil]
            return "seed \(seed): \(byteCount) bytes, \(base), \(mode), \(traits.compactMap { $0 })"
        }
    }

    /// Where the bytes come from.
    private enum Base: CaseIterable {
        case memory, generator, pipe

        /// Faults that make it no other blob: of an unknown length, an early end is the end.
        func fault(_ byteCount: Int, using random: inout SplitMix64) -> FaultSource.Fault? {
            let offset = Int64.random(in: 0...Int64(byteCount), using: &random)
            switch (self, Int.random(in: 0..<10, using: &random)) {
            case (.memory, 0) where offset < byteCount: return .truncate(at: offset)
            case (.memory, 1): return .wrongByteCount(by: Int64.random(in: 1...10, using: &random))
            case (.memory, 2) where offset > 0: return .wrongByteCount(by: -offset)
            case (_, 3), (_, 4): return .fail(at: offset)
            case (.memory, 5), (.generator, 5): return byteCount < 50 ? .oneByte : .half
            default: return nil
            }
        }
    }

    /// A producer that writes pieces, and yields in between.
    private static func production(
        of bytes: Data, fault: FaultSource.Fault?, into pipe: BlobPipe, using random: inout SplitMix64
    ) -> @Sendable () -> Void {
        var failure: BlobError?
        var end = bytes.endIndex
        if case .fail(let offset, let error) = fault { (failure, end) = (error, bytes.startIndex + Int(offset)) }
        let (pieceByteCount, pauses) = (Int.random(in: 1...50_000, using: &random), random.next() % 4)
        return { [failure, end] in
            DispatchQueue.global().async {
                var rest = bytes[..<end]
                while !rest.isEmpty {
                    for _ in 0..<pauses { sched_yield() }
                    // Throws when the reader went away first.
                    guard (try? pipe.write(rest.prefix(pieceByteCount), context: BlobContext())) != nil else { return }
                    rest = rest.dropFirst(pieceByteCount)
                }
                pipe.finish(throwing: failure)
            }
        }
    }
}

extension FaultSource.Fault {
    fileprivate var isHarmful: Bool {
        switch self {
        case .oneByte, .half: false
        default: true
        }
    }
}

extension SplitMix64 {
    /// Mostly small, sometimes about as large as one read of the session or several.
    fileprivate mutating func byteCount() -> Int {
        switch Int.random(in: 0..<100, using: &self) {
        case 0..<70: Int.random(in: 0...300, using: &self)
        case 70..<96: Int.random(in: 0...2000, using: &self)
        case 96..<99: Int.random(in: 65_520...65_540, using: &self)
        default: Int.random(in: 0...200_000, using: &self)
        }
    }
}
