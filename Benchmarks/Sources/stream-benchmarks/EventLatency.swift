import BlobStreams
import Foundation

extension Report {
    /// The delay between new bytes and the event that the delegate receives.
    static var eventLatency: Report {
        Report(
            title: "From bytes on one thread to the delegate on a sleeping run loop: microseconds, median, 99th in 100"
        ) {
            [
                ("BlobInputStream over a pipe", EventLatency.measure(eventCount: 3000)),
                ("a semaphore between two bare threads", EventLatency.measureBareThreads(eventCount: 3000)),
            ].map { name, latencies in
                let columns = [50, 99].map { latencies[latencies.count * $0 / 100] / .microseconds(1) }
                return (name, columns.map { String(format: "%.1f", $0) })
            }
        }
    }
}

/// Measures the time from new bytes on one thread to the event of a delegate on a sleeping run loop.
final class EventLatency: NSObject, StreamDelegate {
    private let eventCount: Int
    private let sent: DispatchSemaphore
    private let clock: SharedInstant
    private(set) var latencies: [Duration] = []

    private init(_ eventCount: Int, _ sent: DispatchSemaphore, _ clock: SharedInstant) {
        (self.eventCount, self.sent, self.clock) = (eventCount, sent, clock)
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        guard event == .hasBytesAvailable, let stream = stream as? InputStream else { return }
        self.latencies.append(ContinuousClock.now - self.clock.value)
        var byte: UInt8 = 0
        _ = stream.read(&byte, maxLength: 1)
        if self.latencies.count == self.eventCount { stream.close() } else { self.sent.signal() }
    }

    /// Returns the sorted latencies of `eventCount` events, each sent after the run loop has had time to fall asleep.
    static func measure(eventCount: Int) -> [Duration] {
        let (next, clock, pipe) = (DispatchSemaphore(value: 0), SharedInstant(), BlobPipe())
        next.signal()
        Thread {
            for _ in 0..<eventCount {
                next.wait()
                usleep(300)
                clock.value = .now
                try? pipe.write(Data([1]))
            }
        }.start()
        let stream = BlobInputStream(pipe.source, mode: .asynchronous)
        let delegate = EventLatency(eventCount, next, clock)
        stream.delegate = delegate
        stream.schedule(in: .current, forMode: .default)
        stream.open()
        while RunLoop.current.run(mode: .default, before: .distantFuture), stream.streamStatus != .closed {}
        return delegate.latencies.sorted()
    }

    /// Returns the sorted latencies between two bare threads, which are the time that the system needs to wake a
    /// thread.
    static func measureBareThreads(eventCount: Int) -> [Duration] {
        let (next, bytes, clock) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), SharedInstant())
        next.signal()
        Thread {
            for _ in 0..<eventCount {
                next.wait()
                usleep(300)
                clock.value = .now
                bytes.signal()
            }
        }.start()
        var latencies: [Duration] = []
        for _ in 0..<eventCount {
            bytes.wait()
            latencies.append(ContinuousClock.now - clock.value)
            next.signal()
        }
        return latencies.sorted()
    }
}

/// The instant at which the last event was sent. Safe: every access takes the lock.
private final class SharedInstant: @unchecked Sendable {
    private let lock = NSLock()
    private var instant = ContinuousClock.now

    var value: ContinuousClock.Instant {
        get { self.lock.withLock { self.instant } }
        set { self.lock.withLock { self.instant = newValue } }
    }
}
