import BlobStreams
import BlobTestSupport
import Foundation

/// A source that counts what is done with its readers.
final class CountedSource: BlobInputStreamDataSource {
    let openings = Recorder<Int64>()
    let closings = Recorder<Bool>()
    let readCounts = Recorder<Int>()
    private let base: any BlobInputStreamDataSource
    private let hidesRandomAccess: Bool

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

    func makeReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext) throws
        -> any BlobPluginReader
    {
        let reader = try self.base.makeReader(at: byteOffset, matching: validator, context: context)
        self.openings.append(byteOffset)
        return Reader(reader, self)
    }

    /// True when every reader that was opened was closed.
    var isReleased: Bool { self.openings.values.count == self.closings.values.count }

    private final class Reader: BlobPropertyReader {
        private let base: any BlobPluginReader
        private let source: CountedSource
        private var color: Any?
        private var isClosed = false

        init(_ base: any BlobPluginReader, _ source: CountedSource) { (self.base, self.source) = (base, source) }

        var info: BlobInfo { self.source.shown(self.base.info) }
        var isOpen: Bool { self.base.isOpen }
        var neverBlocks: Bool { self.base.neverBlocks }

        func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
            let before = output.byteCount
            let result = try self.base.read(into: &output)
            self.source.readCounts.append(output.byteCount - before)
            return result
        }

        func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }

        func property(forKey key: Stream.PropertyKey) -> Any? { key == .color ? self.color : nil }

        func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool {
            if key == .color { self.color = value }
            return key == .color
        }

        func close() {
            if !self.isClosed { self.source.closings.append(true) }
            self.isClosed = true
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
