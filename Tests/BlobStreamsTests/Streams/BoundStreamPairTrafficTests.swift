import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Many bytes through a pair, each end by blocking calls or by events, and what threads may do to it at once.
@Suite(.timeLimit(.minutes(10))) struct BoundStreamPairTrafficTests {
    enum Use: CaseIterable, Sendable {
        case blocking, events
    }

    @Test(arguments: Use.allCases, Use.allCases)
    func aHundredMegabytesArriveInOrder(writing: Use, reading: Use) async throws {
        let byteCount = 100_000_000
        let ends = Ends(opened: false)
        let total = Locked(0)
        try await onThreads(2) { number in
            if number == 0 {
                Traffic.write(byteCount, to: ends.output, by: writing)
            } else {
                let result = Traffic.read(from: ends.input, by: reading)
                total.withLock { $0 = result }
            }
        }
        #expect(total.withLock { $0 } == byteCount)
        #expect(ends.input.streamError == nil)
        #expect(ends.output.streamError == nil)
    }

    @Test(arguments: [1, 3, 4096]) func bothEndsMayBeServedByOneRunLoop(capacity: Int) async throws {
        let byteCount = capacity * 1000
        let ends = Ends(capacity: capacity, opened: false)
        let count = try await onThread {
            let writer = Traffic.writingDelegate(byteCount)
            ends.output.delegate = writer
            ends.output.schedule(in: .current, forMode: .default)
            ends.output.open()
            defer { withExtendedLifetime(writer) {} }
            return Traffic.read(from: ends.input, by: .events)
        }
        #expect(count == byteCount)
        #expect(ends.output.streamStatus == .closed)
    }

    @Test func aPairOfOneByteIsSlowAndRight() async throws {
        for (writing, reading) in [(Use.events, Use.blocking), (.blocking, .events), (.events, .events)] {
            let ends = Ends(capacity: 1, opened: false)
            let total = Locked(0)
            try await onThreads(2) { number in
                if number == 0 {
                    Traffic.write(2000, to: ends.output, by: writing)
                } else {
                    let result = Traffic.read(from: ends.input, by: reading)
                    total.withLock { $0 = result }
                }
            }
            #expect(total.withLock { $0 } == 2000)
        }
    }

    // MARK: Races on purpose

    /// What arrived is a true beginning in every interleaving, and an end only if all was written.
    @Test func writersClosersSchedulersAndDelegatesRace() async throws {
        for round in 0..<60 {
            let byteCount = 1 + round * 37
            let all = Shares(Ends(capacity: 1 + round % 5, opened: round.isMultiple(of: 2)), 6)
            let closesEarly = round % 3
            let wroteAll = Locked(false)
            let outcome = Locked<(count: Int, isRight: Bool, isEnd: Bool)>((0, true, false))
            try await onThreads(6) { number in
                guard let ends = all.take(number) else { return }
                switch number {
                case 0:
                    ends.output.open()
                    let bytes = testBytes(byteCount)
                    wroteAll.withLock { $0 = ends.output.writeAll(bytes) }
                    if wroteAll.withLock({ $0 }) { ends.output.close() }
                // Else the release is the end, which is none.
                case 1:
                    ends.input.open()
                    let result = Traffic.readBlocking(from: ends.input)
                    outcome.withLock { $0 = result }
                case 2:
                    for _ in 0..<20 {
                        ends.output.schedule(in: .current, forMode: .default)
                        RunLoop.current.drain()
                        ends.output.remove(from: .current, forMode: .default)
                    }
                case 3:
                    for _ in 0..<50 {
                        let delegates = (RecordingDelegate(), RecordingDelegate())
                        ends.output.delegate = delegates.0
                        ends.input.delegate = delegates.1
                        _ = ends.output.hasSpaceAvailable
                        ends.output.delegate = nil
                    }
                case 4:
                    for _ in 0..<20 {
                        ends.input.schedule(in: .current, forMode: .default)
                        RunLoop.current.drain()
                        _ = ends.output.streamStatus
                        _ = ends.output.streamError
                        ends.input.remove(from: .current, forMode: .default)
                    }
                default:
                    for _ in 0..<round { sched_yield() }
                    if closesEarly == 1 { ends.input.close() }
                    if closesEarly == 2 { ends.pair.finish(throwing: BlobError(.refused, "No.")) }
                }
            }
            let (count, isRight, isEnd) = outcome.withLock { $0 }
            #expect(isRight)
            #expect(count <= byteCount)
            if isEnd { #expect(wroteAll.withLock { $0 } && count == byteCount) }
            if closesEarly == 0 { #expect(isEnd) }
        }
    }

    @Test func manyWritersShareOneOutput() async throws {
        let (writerCount, byteCount) = (4, 500)
        let ends = Ends(capacity: 3)
        let counts = Locked([Int](repeating: 0, count: writerCount))
        async let reading: Void = onThread {
            while case let (count, bytes) = ends.input.readBytes(64), count > 0 {
                for byte in bytes { counts.withLock { $0[Int(byte)] += 1 } }
            }
        }
        try await onThreads(writerCount) { number in
            for _ in 0..<byteCount { #expect(ends.output.writeBytes([UInt8(number)]) == 1) }
        }
        ends.output.close()
        try await reading
        #expect(counts.withLock { $0 } == [Int](repeating: byteCount, count: writerCount))
    }

    @Test func pairsThatAreReleasedAtAnyMomentLeaveNothing() async throws {
        for round in 0..<100 {
            weak var output: OutputStream?
            weak var input: BlobInputStream?
            let all: Shares = {
                let ends = Ends(capacity: 2, opened: false)
                (output, input) = (ends.output, ends.input)
                return Shares(ends, 2)
            }()
            try await onThreads(2) { number in
                guard let ends = all.take(number) else { return }
                if number == 0 {
                    ends.output.schedule(in: .current, forMode: .default)
                    ends.output.open()
                    for _ in 0..<(round % 3) where ends.output.hasSpaceAvailable { _ = ends.output.writeBytes([1]) }
                } else {
                    ends.input.schedule(in: .current, forMode: .default)
                    ends.input.open()
                    if ends.input.state.value.hasBytesAvailable { _ = ends.input.readBytes(1) }
                }
                RunLoop.current.drain()
            }
            #expect(output == nil)
            #expect(input == nil)
        }
    }
}

/// References to one pair, each for one thread to take; the last thread to finish releases the pair.
private final class Shares: Sendable {
    private let ends: Locked<[Ends?]>

    init(_ ends: Ends, _ count: Int) { self.ends = Locked(Array(repeating: ends, count: count)) }

    func take(_ number: Int) -> Ends? {
        self.ends.withLock { ends in
            defer { ends[number] = nil }
            return ends[number]
        }
    }
}

/// Producers and consumers of the ``Pattern``.
private enum Traffic {
    static let pieceByteCount = 50_000

    static func write(_ byteCount: Int, to output: OutputStream, by use: BoundStreamPairTrafficTests.Use) {
        switch use {
        case .blocking:
            output.open()
            var offset = 0
            while offset < byteCount {
                let count = self.writeNext(to: output, &offset, byteCount)
                guard count > 0 else { return }
            }
            output.close()
        case .events:
            let delegate = self.writingDelegate(byteCount)
            output.delegate = delegate
            output.schedule(in: .current, forMode: .default)
            output.open()
            RunLoop.current.run { output.streamStatus == .closed || output.streamStatus == .error }
            withExtendedLifetime(delegate) {}
        }
    }

    static func writingDelegate(_ byteCount: Int) -> RecordingDelegate {
        let delegate = RecordingDelegate()
        var offset = 0
        delegate.on(.hasSpaceAvailable) { stream in
            guard let output = stream as? OutputStream, offset < byteCount else { return stream.close() }
            if self.writeNext(to: output, &offset, byteCount) < 0 { stream.close() }
        }
        return delegate
    }

    private static func writeNext(to output: OutputStream, _ offset: inout Int, _ byteCount: Int) -> Int {
        let count = Pattern.with(offset, min(self.pieceByteCount, byteCount - offset)) { bytes in
            bytes.baseAddress.map { output.write($0, maxLength: bytes.count) } ?? -1
        }
        offset += max(count, 0)
        return count
    }

    /// Reads to the end.
    ///
    /// - Returns: How many bytes were right; -1 when some were not, or it did not come to the end.
    static func read(from input: BlobInputStream, by use: BoundStreamPairTrafficTests.Use) -> Int {
        switch use {
        case .blocking:
            input.open()
            let (count, isRight, isEnd) = self.readBlocking(from: input)
            return isRight && isEnd ? count : -1
        case .events:
            let delegate = RecordingDelegate()
            var (total, isEnd) = (0, false)
            let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: self.pieceByteCount)
            defer { buffer.deallocate() }
            delegate.on(.hasBytesAvailable) { stream in
                let count = (stream as? InputStream)?.read(buffer, maxLength: self.pieceByteCount) ?? -1
                guard count >= 0, Pattern.matches(buffer, count, at: total) else { return stream.close() }
                total += count
            }
            delegate.on(.endEncountered) { stream in
                isEnd = true
                stream.close()
            }
            delegate.on(.errorOccurred) { $0.close() }
            input.delegate = delegate
            input.schedule(in: .current, forMode: .default)
            input.open()
            RunLoop.current.run { input.streamStatus == .closed }
            return isEnd ? total : -1
        }
    }

    static func readBlocking(from input: InputStream) -> (count: Int, isRight: Bool, isEnd: Bool) {
        let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: self.pieceByteCount)
        defer { buffer.deallocate() }
        var total = 0
        while true {
            let count = input.read(buffer, maxLength: self.pieceByteCount)
            guard count > 0 else { return (total, true, count == 0) }
            guard Pattern.matches(buffer, count, at: total) else { return (total, false, false) }
            total += count
        }
    }
}
