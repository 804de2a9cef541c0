import BlobIndex
import BlobInflate
import BlobStreams

/// An index that can be used: what it says, and where its windows are.
final class GzipIndex: Sendable {
    let layout: GzipIndexLayout
    /// What it was made from.
    let content: IndexedContent
    private let windows: IndexSection
    private let file: IndexFile
    private let damageIsKnown = Locked(false)

    /// The index of `content` in a file, when there is one and it is whole.
    init?(_ file: IndexFile, layer: String, content: IndexedContent) {
        guard let section = file.section(.points(layer), for: content),
            let windows = file.section(.windows(layer), for: content),
            let layout = try? GzipIndexLayout(decoding: section.bytes()),
            layout.compressedByteCount == content.byteCount
        else { return nil }
        self.layout = layout
        self.content = content
        self.windows = windows
        self.file = file
    }

    /// The last slice up to `slice` that decoding can begin with, and the window of its point, empty for one in front of a
    /// header.
    ///
    /// When a window is damaged, that is an earlier one; the file goes then, so that the next reading of the whole makes
    /// another one.
    func start(at slice: Int) -> (slice: Int, window: [UInt8]) {
        for candidate in (0...slice).reversed() {
            guard let place = self.layout.points[candidate].window else { return (candidate, []) }
            if let window = try? self.window(place) { return (candidate, window) }
            if self.damageIsKnown.takeOnce() { _ = try? self.file.remove() }
        }
        // The first point has no window.
        return (0, [])
    }

    /// - Throws: ``BlobError/Code/corrupted`` when the index file is damaged at that place.
    private func window(_ place: RestartPoint.PackedWindow) throws(BlobError) -> [UInt8] {
        let packed = try self.windows.read(at: place.byteOffset, count: place.byteCount)
        var sum = CRC32()
        packed.withUnsafeBytes { sum.update($0) }
        guard sum.value == place.checksum else {
            throw BlobError(.corrupted, "The window of a restart point has another checksum.")
        }
        var inflater = try Inflater()
        var window = [UInt8](repeating: 0, count: Inflater.windowByteCount)
        let count = try window.withMutableBytes { window throws(BlobError) in
            var output = OutputRawSpan(buffer: window, initializedCount: 0)
            try packed.withBytes { packed throws(BlobError) in
                var packed = packed
                while output.freeCapacity > 0, try !inflater.decode(&packed, into: &output), !packed.isEmpty {}
            }
            return output.finalize(for: window)
        }
        return count == window.count ? window : Array(window.prefix(count))
    }
}

/// An index that was just made.
struct NewGzipIndex {
    let layout: GzipIndexLayout
    let windows: SpillBuffer

    /// Writes it to `file`; returns how many bytes it takes.
    func write(to file: IndexFile, layer: String, content: IndexedContent) throws(BlobError) -> Int64 {
        let points = self.layout.encoded
        let windows = self.windows
        try file.write(
            [
                NewIndexSection(.points(layer), bytes: points),
                // Each window has a checksum, so that one can be had without reading the others.
                NewIndexSection(.windows(layer), flags: .hasOwnChecks) { sink throws(BlobError) in
                    try windows.forEachChunk { chunk throws(BlobError) in try sink(chunk) }
                },
            ], for: content)
        return Int64(points.count) + windows.byteCount
    }
}

extension IndexSection.Key {
    static func points(_ layer: String) -> Self { Self(layer: layer, kind: .restartPoints) }
    static func windows(_ layer: String) -> Self { Self(layer: layer, kind: .windows) }
}

extension IndexSection.Kind {
    /// What restart points need to know of the bytes before them.
    fileprivate static let windows = Self("WNDW")
}
