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

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        self.numbers.withLock { $0.openings += 1 }
        return .inspected(
            try self.underlying.open(opening), Counter(source: self), startingAt: opening.byteOffset)
    }

    private func info(over base: BlobInfo) -> BlobInfo {
        var info = base
        info.isRandomAccess = info.isRandomAccess && self.hasRandomAccess
        return info
    }

    private struct Counter: BlobInspector {
        let source: CountedSource

        func info(of base: BlobInfo) -> BlobInfo { self.source.info(over: base) }

        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
            self.source.numbers.withLock { $0.bytes += Int64(bytes.byteCount) }
            return 0..<bytes.byteCount
        }
    }
}
