import BlobDeflate
import BlobIndex
import BlobStreams
import FileSource
import Foundation

@testable import GzipSource

/// The index of a gzip in a file of its own, to be damaged and forged.
struct BuiltIndex {
    let path: String
    let layout: GzipIndexLayout
    /// The whole index file as it was made.
    let bytes: Data
    private let content: IndexedContent
    private let windowsStart: Int

    /// Makes the index of what `base` holds compressed: with zlib and in small pieces, so that no end of a block is
    /// missed.
    init(
        _ base: any BlobInputStreamDataSource, _ format: GzipSource.Format = .gzip, at path: String,
        tuning: GzipTuning = .standard
    ) throws {
        let source = GzipSource(base, format: format, index: .file(path), library: .zlib, tuning: tuning)
        try? FileManager.default.removeItem(atPath: path)
        guard outcome(of: source).isWhole, let file = IndexFile(.file(path), for: nil),
            let content = try IndexedContent.read(from: base, BlobContext()),
            let section = try file.section(.points(file.layer), for: content)
        else { throw BlobError(.notFound, "There is no index.") }
        self.path = path
        self.layout = try GzipIndexLayout(decoding: section.bytes(), spacing: tuning.minimumSpacing)
        self.bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        self.content = content
        // The windows come behind the head of 16 bytes and the points.
        self.windowsStart = 16 + Int(section.byteCount)
    }

    /// The points that have a window.
    var windowed: [Int] { self.layout.windows.indices.filter { self.layout.windows[$0] != nil } }

    /// Where the packed window of a point is in the file.
    func place(ofWindow point: Int) -> Range<Int> {
        guard let window = self.layout.windows[point] else { return 0..<0 }
        let start = self.windowsStart + Int(window.byteOffset)
        return start..<(start + window.byteCount)
    }

    /// Puts the index file there again, with these places overwritten by zeros.
    func write(losing places: [Range<Int>] = []) throws {
        var bytes = self.bytes
        for place in places { bytes.replaceSubrange(place, with: Data(count: place.count)) }
        try bytes.write(to: URL(fileURLWithPath: self.path))
    }

    /// The window of a point, unpacked.
    func window(of point: Int) throws -> [UInt8] {
        try inflated(Array(self.bytes[self.place(ofWindow: point)]))
    }

    /// Writes an index whose checksums are all right, of other points, windows and sums of segments.
    func forge(
        points: [RestartPoint]? = nil, windows: [Int: [UInt8]] = [:], checksums: [UInt32]? = nil
    ) throws {
        let points = points ?? self.layout.points.places
        var (places, packed) = ([PackedWindow?](), [[UInt8]]())
        var offset: Int64 = 0
        for index in points.indices {
            guard points[index].isInData else {
                places.append(nil)
                continue
            }
            let bytes =
                windows[index].map { Array(deflated(Data($0))) } ?? Array(self.bytes[self.place(ofWindow: index)])
            places.append(PackedWindow(byteOffset: offset, byteCount: bytes.count, checksum: CRC32(of: bytes).value))
            offset += Int64(bytes.count)
            packed.append(bytes)
        }
        let layout = GzipIndexLayout(
            RestartPoints(
                points, compressedByteCount: self.layout.points.compressedByteCount, byteCount: self.layout.byteCount),
            windows: places, memberCount: self.layout.memberCount, checksums: checksums ?? self.layout.checksums)
        // It may be damaged by now.
        try self.write()
        guard let file = IndexFile(.file(self.path), for: nil) else { return }
        let layer = file.layer
        try file.write(
            [
                NewIndexSection(.points(layer), bytes: layout.encoded),
                NewIndexSection(.windows(layer), flags: .hasOwnChecks, bytes: packed.flatMap { $0 }),
            ], for: self.content)
    }
}

extension IndexFile {
    /// The layer of the only gzip that the file is of.
    fileprivate var layer: String { self.sections().first { $0.key.kind == .restartPoints }?.key.layer ?? "gzip" }
}

private func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
    Array(outcome(decoding: Data(bytes), .deflate).bytes)
}

/// A source over bytes that may change without any sign of it.
final class ChangeableBytes: Sendable {
    private let bytes: Locked<Data>

    init(_ bytes: Data) { self.bytes = Locked(bytes) }

    func change(_ body: @Sendable (inout Data) -> Void) { self.bytes.withLock { body(&$0) } }

    var source: any BlobInputStreamDataSource {
        let info = BlobInfo(byteCount: Int64(self.bytes.withLock { $0.count }), validator: .strong("always"))
        return ClosureSource(info: info) { offset, output, _ in
            self.bytes.withLock { bytes in
                _ = bytes.dropFirst(Int(offset)).prefix(100_000).withUnsafeBytes { output.append(contentsOf: $0) }
            }
        }
    }
}
