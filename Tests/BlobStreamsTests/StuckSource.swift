import BlobStreams
import BlobTestSupport
import Foundation

/// A source whose reads block and do not listen to the context, until the test lets them go.
final class StuckSource: BlobInputStreamDataSource {
    let gate = Latch()
    let reads = Recorder<Bool>()
    let closes = Recorder<Bool>()

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }
    func makeBody(_ opening: BlobOpening) -> BlobBody { .stream(Stream(self), startingAt: opening.byteOffset) }

    private final class Stream: BlobByteStream {
        let info: BlobInfo? = BlobInfo()
        private let source: StuckSource

        init(_ source: StuckSource) { self.source = source }

        func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult {
            self.source.reads.append(true)
            self.source.gate.wait()
            return .end
        }

        func close() { self.source.closes.append(true) }
    }
}
