import BlobStreams
import Foundation

/// A repeatable source of a pattern that may block, and so is read on other threads.
struct PatternSource: BlobInputStreamDataSource {
    /// Its length is a prime, so that no buffer begins where another did.
    private static let pattern = (0..<65_537).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5) }

    let byteCount: Int
    var isLengthKnown = true
    var mediaType: String?
    /// The error that is thrown where the end would be.
    var failure: BlobError?
    /// The number of bytes after which there is no more, whatever the length says.
    var actualByteCount: Int?

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    /// The length and the checksum of all bytes, for comparison with those of a receiver.
    var checked: Checked {
        var checked = Checked()
        while checked.count < self.byteCount {
            Self.piece(at: checked.count, atMost: self.byteCount - checked.count).withUnsafeBytes { checked.add($0) }
        }
        return checked
    }

    func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(byteCount: self.isLengthKnown ? Int64(self.byteCount) : nil, mediaType: self.mediaType)
    }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        try self.describe(context).check(byteOffset: byteOffset, matching: validator)
        return Reader(self, Int(byteOffset), context)
    }

    fileprivate static func piece(at offset: Int, atMost count: Int) -> ArraySlice<UInt8> {
        self.pattern[(offset % self.pattern.count)...].prefix(count)
    }

    private final class Reader: BlobPluginReader {
        let info: BlobInfo
        private let source: PatternSource
        private var offset: Int

        init(_ source: PatternSource, _ offset: Int, _ context: BlobContext) {
            (self.info, self.source, self.offset) = (source.describe(context), source, offset)
        }

        func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
            let rest = (self.source.actualByteCount ?? self.source.byteCount) - self.offset
            guard rest > 0 else {
                if let failure = self.source.failure { throw failure }
                return .end
            }
            var piece = PatternSource.piece(at: self.offset, atMost: min(rest, output.freeCapacity))
            self.offset += piece.count
            return .moving(&piece, to: &output)
        }

        func close() {}
    }
}

/// A source that gives one byte and then nothing, and notes when its reader is closed.
final class StalledSource: BlobInputStreamDataSource {
    let (closed, continuation) = AsyncStream.makeStream(of: Void.self)

    var traits: BlobTraits { [.neverBlocks, .repeatable] }

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: 100) }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) -> any BlobPluginReader {
        Reader(self.continuation)
    }

    func waitForClose() async { for await _ in self.closed { return } }

    private final class Reader: BlobPluginReader {
        let info = BlobInfo(byteCount: 100)
        private let continuation: AsyncStream<Void>.Continuation
        private var count = 0

        init(_ continuation: AsyncStream<Void>.Continuation) { self.continuation = continuation }

        func read(into output: inout OutputRawSpan) -> BlobReadResult {
            // The first is held back, so the server sees the second only when there is a third.
            guard self.count < 2 else { return .notYet }
            self.count += 1
            output.append(1)
            return .bytes
        }

        func whenReadable(_ waker: BlobWaker) {}

        func close() { self.continuation.yield() }
    }
}
