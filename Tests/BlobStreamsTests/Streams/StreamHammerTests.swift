import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Races on purpose: food for the thread sanitizer. What is asserted holds in every interleaving.
@Suite(.timeLimit(.minutes(10))) struct StreamHammerTests {
    private final class CountingDelegate: NSObject, StreamDelegate, @unchecked Sendable {  // Safe: a lock.
        let events = Locked(0)

        func stream(_ stream: Stream, handle event: Stream.Event) {
            self.events.withLock { $0 += 1 }
            if event == .hasBytesAvailable { _ = (stream as? InputStream)?.readBytes(3) }
        }
    }

    /// The stream that all threads use at the moment; it may be used on several threads.
    private final class Target: Sendable {
        let stream = Locked<UnsafeTransfer<BlobInputStream>?>(nil)
        let context = Locked(BlobContext())
        private let count = Locked(0)

        func renew() {
            let number = self.count.withLock { count in
                count += 1
                return count
            }
            let context = BlobContext(idleLimit: .milliseconds(5))
            let mode = BlobInputStreamTests.modes[number % 2]
            let stream = BlobInputStream(self.source(number), mode: mode, context: context)
            self.context.withLock { $0 = context }
            let old = self.stream.withLock { current in
                defer { current = UnsafeTransfer(stream) }
                return current
            }
            _ = old  // The last reference may be this one or that of a thread that is just reading.
        }

        private func source(_ number: Int) -> any BlobInputStreamDataSource {
            switch number % 5 {
            case 0, 1: return MemorySource(count: 200)
            case 2: return SourceKind.eventDriven.source(200)
            case 3: return FailingSource(after: 100, BlobError(.io, "No."))
            default:
                let pipe = BlobPipe()
                _ = try? Data(testBytes(200)).withUnsafeBytes { try pipe.tryWrite($0) }
                DispatchQueue.global().async { pipe.finish() }
                return pipe.source
            }
        }
    }

    @Test func everythingAtOnceFromEightThreads() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        let target = Target()
        target.renew()
        let loops = [LoopThread(), LoopThread(RunLoop.Mode("second"))]
        let delegates = [CountingDelegate(), CountingDelegate()]
        let rounds = 100_000
        try await onThreads(8) { number in
            var random = SplitMix64(seed: seed &+ UInt64(number))
            var tokens: [BlobRegistration] = []
            for _ in 0..<(rounds / 8) {
                guard let stream = target.stream.withLock({ $0 })?.value else { continue }
                let loop = random.next(2)
                let mode = loop == 0 ? RunLoop.Mode.default : RunLoop.Mode("second")
                switch random.next(100) {
                case 0..<30:
                    let (count, bytes) = stream.readBytes(1 + random.next(20))
                    // Bytes of one read are consecutive ones of the blob, whoever moves the offset.
                    if count > 1 { #expect(isRun(bytes)) }
                case 30..<40: stream.open()
                case 40..<50: stream.schedule(in: loops[loop].runLoop, forMode: mode)
                case 50..<60: stream.remove(from: loops[loop].runLoop, forMode: mode)
                case 60..<70: _ = stream.setOffset(Int64(random.next(210)))
                case 70..<78: stream.delegate = random.next(3) == 0 ? nil : delegates[random.next(2)]
                case 78..<86:
                    tokens.append(stream.state.observe(\.byteOffset) { _ in })
                    if tokens.count > 5 { tokens.removeFirst() }
                case 86..<90: _ = (stream.streamStatus, stream.streamError, stream.hasBytesAvailable, stream.delegate)
                case 90..<92: _ = stream.unopenedCopy().offset
                case 92..<94: _ = stream.property(forKey: .color)
                case 94..<96: stream.close()
                case 96..<97: target.context.withLock { $0 }.cancellation.cancel()
                default: target.renew()
                }
            }
        }
        target.stream.withLock { $0 }?.value.close()
        target.stream.withLock { $0 = nil }
        try await onThread { for loop in loops { loop.stop() } }
        #expect(delegates.reduce(0) { $0 + $1.events.withLock { $0 } } > 100)
    }
}

/// True when `bytes` stand side by side somewhere in the test's bytes.
private func isRun(_ bytes: [UInt8]) -> Bool {
    let all = testBytes(200)
    return (0...(all.count - bytes.count)).contains { Array(all[$0..<($0 + bytes.count)]) == bytes }
}

extension SplitMix64 {
    mutating func next(_ bound: Int) -> Int { Int(self.next(upperBound: UInt64(bound))) }
}
