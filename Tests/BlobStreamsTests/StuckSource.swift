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
    func makeReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext)
        -> any BlobPluginReader
    {
        Reader(self)
    }

    private final class Reader: BlobPluginReader {
        private let source: StuckSource
        private var isClosed = false

        init(_ source: StuckSource) { self.source = source }

        var info: BlobInfo { BlobInfo() }

        func read(into output: inout OutputRawSpan) -> BlobReadResult {
            self.source.reads.append(true)
            self.source.gate.wait()
            return .end
        }

        func close() {
            if !self.isClosed { self.source.closes.append(true) }
            self.isClosed = true
        }
    }
}
