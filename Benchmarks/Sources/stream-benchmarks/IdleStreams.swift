import BlobStreams
import CHeap
import FileSource
import Foundation

extension Report {
    /// The threads and the memory used by open streams that have nothing to read.
    static var idleStreams: Report {
        Report(title: "Idle streams: open, threads, threads at most, bytes of heap a stream, a source") {
            raiseDescriptorLimit()
            return try [
                ("10,000 over pipes, synchronous", IdleStreams.overPipes(10_000, .synchronous)),
                ("10,000 over pipes, asynchronous", IdleStreams.overPipes(10_000, .asynchronous)),
                ("1,000 over FIFOs, asynchronous, half with a writer", IdleStreams.overFIFOs(1000)),
            ].map { name, columns in (name, columns.map(String.init)) }
        }
    }
}

private enum IdleStreams {
    static func overPipes(_ count: Int, _ mode: BlobStreamMode) -> [Int] {
        var pipes: [BlobPipe] = []
        return self.measure(count, mode) { _ in
            pipes.append(BlobPipe())
            return pipes[pipes.count - 1].source
        }
    }

    static func overFIFOs(_ count: Int) throws -> [Int] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stream-benchmarks-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        var writers: [CInt] = []
        defer { for writer in writers { close(writer) } }
        let paths = (0..<count).map { folder.appendingPathComponent("\($0)").path }
        for path in paths { precondition(mkfifo(path, 0o600) == 0) }
        // Also opened for reading, because a write-only descriptor would need a reader.
        for path in paths.prefix(count / 2) { writers.append(open(path, O_RDWR | O_NONBLOCK)) }
        return self.measure(count, .asynchronous) { FileSource(path: paths[$0]) }
    }

    /// Opens a stream over each of `count` sources, and waits until no further stream opens.
    ///
    /// - Returns: The number of open streams, the number of threads of the process, the maximum of that number, and the
    ///   heap bytes per stream and per source.
    private static func measure(
        _ count: Int, _ mode: BlobStreamMode, _ source: (Int) -> any BlobInputStreamDataSource
    ) -> [Int] {
        var (sources, streams): ([any BlobInputStreamDataSource], [BlobInputStream]) = ([], [])
        sources.reserveCapacity(count)
        streams.reserveCapacity(count)
        let heapBefore = Int(blob_heap_byte_count())
        for index in 0..<count { sources.append(source(index)) }
        let heapOfSources = Int(blob_heap_byte_count()) - heapBefore
        var (openCount, threadsAtMost) = (0, 0)
        for index in 0..<count {
            streams.append(BlobInputStream(sources[index], mode: mode))
            streams[index].open()
            if index % 100 == 0 { threadsAtMost = max(threadsAtMost, threadCount()) }
        }
        // Wait until no stream has opened for two seconds.
        var quietCount = 0
        while quietCount < 200 {
            usleep(10_000)
            threadsAtMost = max(threadsAtMost, threadCount())
            let nowOpen = streams.count { $0.state.value.phase == .open }
            quietCount = nowOpen == openCount ? quietCount + 1 : 0
            openCount = nowOpen
        }
        let heapOfStreams = Int(blob_heap_byte_count()) - heapBefore - heapOfSources
        let result = [openCount, threadCount(), threadsAtMost, heapOfStreams / count, heapOfSources / count]
        for stream in streams { stream.close() }
        return result
    }
}
