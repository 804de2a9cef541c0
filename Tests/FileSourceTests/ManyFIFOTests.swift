import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ManyFIFOTests {
    /// In a process of its own, because what else runs would count too.
    @Test func aThousandFIFOsOpenOnFewThreads() async {
        await #expect(processExitsWith: .success) {
            _ = setDescriptorLimit(4000)
            let folder = try TemporaryFolder()
            let streams = try (0..<1000).map { number in
                let path = folder.path("\(number)")
                try #require(mkfifo(path, 0o600) == 0)
                return BlobInputStream(FileSource(path: path), mode: .asynchronous)
            }
            var most = 0
            func look() {
                let pools: [BlockingPool] = [.reads, .openings, .briefJobs]
                most = max(most, pools.map(\.threadCount).reduce(0, +))
            }
            for stream in streams {
                stream.open()
                look()
            }
            for stream in streams {
                try stream.state.wait(BlobContext()) { $0.isOpenCompleted ? () : nil }
                look()
            }
            // One each would be 1,000; a dozen where the processors are free, more where they are not.
            try #require(most <= 200, "\(most) threads")
        }
    }
}
