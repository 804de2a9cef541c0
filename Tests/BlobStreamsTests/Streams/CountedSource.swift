import BlobStreams
import BlobTestSupport
import Foundation

/// A source that counts what is done with its readers.
final class CountedSource: BlobPropertySource {
    let openings = Recorder<Int64>()
    let closings = Recorder<Bool>()
    let readCounts = Recorder<Int>()
    private let base: any BlobInputStreamDataSource
    private let hidesRandomAccess: Bool
    private let color = Locked<String?>(nil)

    init(_ base: any BlobInputStreamDataSource, hidesRandomAccess: Bool = false) {
        self.base = base
        self.hidesRandomAccess = hidesRandomAccess
    }

    var traits: BlobTraits { self.base.traits }
    func describe(_ context: BlobContext) throws -> BlobInfo { self.shown(try self.base.describe(context)) }

    private func shown(_ info: BlobInfo) -> BlobInfo {
        var info = info
        if self.hidesRandomAccess { info.isRandomAccess = false }
        return info
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let reader = try self.base.open(opening)
        self.openings.append(opening.byteOffset)
        return .stream(Stream(reader, self), startingAt: opening.byteOffset)
    }

    func property(forKey key: Foundation.Stream.PropertyKey) -> Any? {
        key == .color ? self.color.withLock { $0 } : nil
    }

    func setProperty(_ value: Any?, forKey key: Foundation.Stream.PropertyKey) -> Bool {
        if key == .color { self.color.withLock { $0 = value as? String } }
        return key == .color
    }

    /// True when every reader that was opened was closed.
    var isReleased: Bool { self.openings.values.count == self.closings.values.count }

    private final class Stream: BlobByteStream {
        private let base: BlobReader
        private let source: CountedSource

        init(_ base: BlobReader, _ source: CountedSource) { (self.base, self.source) = (base, source) }

        var info: BlobInfo? { get throws { try self.base.knownInfo().map(self.source.shown) } }
        var neverBlocks: Bool { self.base.neverBlocks }
        var readiness: BlobWakerSlot? { self.base.readiness }

        func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
            let before = output.byteCount
            let result = try self.base.read(into: &output)
            self.source.readCounts.append(output.byteCount - before)
            return result
        }

        func close() {
            self.source.closings.append(true)
            self.base.close()
        }
    }
}

extension Stream.PropertyKey {
    static let color = Stream.PropertyKey(rawValue: "color")
}

extension InputStream {
    var offset: Int64? { (self.property(forKey: .fileCurrentOffsetKey) as? NSNumber)?.int64Value }

    func setOffset(_ offset: Int64) -> Bool {
        self.setProperty(NSNumber(value: offset), forKey: .fileCurrentOffsetKey)
    }
}
