import BlobStreams
import Foundation

/// A layer that counts how often its base is opened, and how many bytes are read of it.
final class CountedSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource
    private let hasRandomAccess: Bool
    private let numbers = Locked((openings: 0, bytes: Int64(0)))

    /// - Parameter hasRandomAccess: False to hide that every place of the base can be reached.
    init(_ base: any BlobInputStreamDataSource, hasRandomAccess: Bool = true) {
        self.underlying = base
        self.hasRandomAccess = hasRandomAccess
    }

    /// The number of readers opened so far.
    var openings: Int { self.numbers.withLock { $0.openings } }
    /// The number of bytes read so far.
    var byteCount: Int64 { self.numbers.withLock { $0.bytes } }

    var traits: BlobTraits { self.underlying.traits }
    var locator: BlobLocator? { self.underlying.locator }
    func describe(_ context: BlobContext) throws -> BlobInfo { self.info(over: try self.underlying.info(context)) }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        self.numbers.withLock { $0.openings += 1 }
        return Reader(self, try self.underlying.open(at: byteOffset, matching: validator, context: context))
    }

    private func info(over base: BlobInfo) -> BlobInfo {
        var info = base
        info.isRandomAccess = info.isRandomAccess && self.hasRandomAccess
        return info
    }

    private final class Reader: BlobPluginReader {
        private let source: CountedSource
        private let base: BlobReader

        init(_ source: CountedSource, _ base: BlobReader) { (self.source, self.base) = (source, base) }

        var info: BlobInfo { self.source.info(over: self.base.info) }

        func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
            let start = output.byteCount
            let result = try self.base.read(into: &output)
            let count = output.byteCount - start
            self.source.numbers.withLock { $0.bytes += Int64(count) }
            return result
        }

        func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }
        func close() { self.base.close() }
    }
}
