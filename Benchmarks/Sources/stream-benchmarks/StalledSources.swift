import BlobStreams
import FileSource
import Foundation

extension Report {
    /// The speed of reading while other sources block every thread available to them.
    static var stalledSources: Report {
        Report(title: "Beside 600 stalled sources: milliseconds alone, beside them, ratio, threads blocked, medians") {
            let memory = MemorySource(Data(repeating: 7, count: FileToRead.byteCount))
            let file = FileSource(url: URL(filePath: try FileToRead.path()))
            return [
                self.line("Chunks of memory") { memory },
                self.line("Chunks of a file") { file },
                self.line("Chunks of a pipe that a thread writes") { StalledSources.filledPipe() },
            ]
        }
    }

    private static func line(
        _ name: String, _ source: @escaping @Sendable () -> any BlobInputStreamDataSource
    ) -> (name: String, columns: [String]) {
        var (alone, beside, blocked): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<3 {
            alone.append(StalledSources.time(source))
            let stalled = StalledSources(600)
            blocked.append(Double(stalled.blockedCount))
            beside.append(StalledSources.time(source, releasing: stalled))
            stalled.release()
        }
        let times = [alone.sorted().median, beside.sorted().median]
        let ratio = times[1].isFinite ? String(format: "%.2f", times[1] / times[0]) : "stopped"
        return (name, times.map { String(format: "%.0f", $0) } + [ratio, String(Int(blocked.sorted().median))])
    }
}

/// Readers of sources that block until they are released: half are streams, half consume chunks.
private final class StalledSources: Sendable {
    private let gate = Gate()
    private let streams: [Moved<BlobInputStream>]
    private let tasks: [Task<Void, any Error>]

    /// Starts the readers, and waits until all of them block, or until no further reader receives a thread.
    init(_ count: Int) {
        let gate = self.gate
        self.streams = (0..<count / 2).map { _ in
            let stream = BlobInputStream(BlockingSource.stalled(by: gate), mode: .asynchronous)
            stream.open()
            return Moved(stream)
        }
        self.tasks = (0..<count - count / 2).map { _ in
            Task { for try await _ in BlockingSource.stalled(by: gate).chunks() {} }
        }
        var (waiterCount, quietCount) = (0, 0)
        while waiterCount < count, quietCount < 50 {
            usleep(10_000)
            quietCount = gate.waiterCount == waiterCount ? quietCount + 1 : 0
            waiterCount = gate.waiterCount
        }
    }

    var blockedCount: Int { self.gate.waiterCount }

    /// Releases all readers, and waits until no thread is blocked.
    func release() {
        self.gate.open()
        for stream in self.streams { stream.value.close() }
        for task in self.tasks { task.cancel() }
        while self.gate.waiterCount > 0 { usleep(10_000) }
    }

    /// Returns the time of reading in milliseconds, or infinity after five seconds, when `stalled` is released to end
    /// it.
    static func time(
        _ source: @escaping @Sendable () -> any BlobInputStreamDataSource, releasing stalled: StalledSources? = nil
    ) -> Double {
        let done = DispatchSemaphore(value: 0)
        let start = ContinuousClock.now
        Thread {
            drain(source().chunks(ofAtMost: 64 << 10))
            done.signal()
        }.start()
        guard done.wait(timeout: .now() + 5) == .timedOut else { return (.now - start) / .milliseconds(1) }
        stalled?.release()
        done.wait()
        return .infinity
    }

    /// Returns a source for a pipe to which a thread writes as many bytes as the file contains.
    static func filledPipe() -> any BlobInputStreamDataSource {
        let pipe = BlobPipe()
        Thread {
            let piece = Data(repeating: 7, count: 64 << 10)
            for _ in 0..<FileToRead.byteCount / piece.count { try? pipe.write(piece) }
            pipe.finish()
        }.start()
        return pipe.source
    }
}
