import BlobStreams
import Foundation

/// A repeatable source of a pattern, which may block and is therefore read on other threads.
struct PatternSource: BlobInputStreamDataSource {
    /// The length is a prime, so that no buffer begins where another did.
    private static let pattern = (0..<65_537).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5) }

    let byteCount: Int
    var isLengthKnown = true
    var mediaType: String?
    /// The error to throw in place of the end.
    var failure: BlobError?
    /// The number of bytes after which the source ends, regardless of its length.
    var actualByteCount: Int?

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    /// The length and the checksum of all bytes, for comparison with a receiver's values.
    var checked: ByteChecksum {
        var checked = ByteChecksum()
        while checked.count < self.byteCount {
            Self.piece(at: checked.count, atMost: self.byteCount - checked.count).withUnsafeBytes { checked.add($0) }
        }
        return checked
    }

    func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(byteCount: self.isLengthKnown ? Int64(self.byteCount) : nil, mediaType: self.mediaType)
    }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        .positional(self.describe(opening.context)) { byteOffset, output in
            let rest = (self.actualByteCount ?? self.byteCount) - Int(byteOffset)
            guard rest > 0 else {
                if let failure { throw failure }
                return
            }
            var piece = Self.piece(at: Int(byteOffset), atMost: min(rest, output.freeCapacity))
            _ = BlobReadResult.moving(&piece, to: &output)
        }
    }

    private static func piece(at offset: Int, atMost count: Int) -> ArraySlice<UInt8> {
        self.pattern[(offset % self.pattern.count)...].prefix(count)
    }
}

/// A source that returns two bytes and then stalls. It records when its reader is closed.
final class StalledSource: BlobInputStreamDataSource {
    let (closed, continuation) = AsyncStream.makeStream(of: Void.self)

    var traits: BlobTraits { [.neverBlocks, .repeatable] }

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: 100) }

    func makeBody(_ opening: BlobOpening) -> BlobBody { .stream(Stalled(self.continuation), startingAt: 0) }

    func waitForClose() async { for await _ in self.closed { return } }

    private final class Stalled: BlobByteStream {
        let info: BlobInfo? = BlobInfo(byteCount: 100)
        let readiness: BlobWakerSlot? = BlobWakerSlot()
        private let continuation: AsyncStream<Void>.Continuation

        init(_ continuation: AsyncStream<Void>.Continuation) { self.continuation = continuation }

        func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult {
            // A byte is sent only after the next one is read, so the server receives only the first byte.
            guard byteOffset < 2 else { return .notYet }
            output.append(1)
            return .bytes
        }

        func close() { self.continuation.yield() }
    }
}
