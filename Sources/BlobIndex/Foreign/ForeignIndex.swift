package import BlobCore
import BlobDeflate

/// An index of gzip data that another tool made: hints, of which nothing is believed that the data do not prove.
///
/// These files have neither checksums nor the identity of the data, but for their length in some.
package struct ForeignIndex: Sendable {
    /// The format of the file.
    package enum Format: String, Sendable {
        /// `.gzi` of `bgzip` (htslib): the starts of the blocks of blocked gzip.
        case bgzip
        /// `GZIDX` of `indexed_gzip`, versions 0 and 1, also written by `rapidgzip`.
        case indexedGzip = "indexed_gzip"
        /// `gzipindx` and `gzipindX` of `gztool`, also written by `rapidgzip`.
        case gztool
    }

    /// A position at which decoding can begin.
    package struct Point: Equatable, Sendable {
        /// The offset from the start of the compressed data, in bits.
        package let bitOffset: Int64
        /// The offset from the start of the decoded bytes.
        package let byteOffset: Int64
        /// The place of the window in the file; nil when the file has none for the point.
        let window: Window?
    }

    /// The place of a window in the file.
    struct Window: Equatable, Sendable {
        let byteOffset: Int64
        let byteCount: Int
        /// True for data of zlib (RFC 1950), false for the bytes themselves.
        let isPacked: Bool
    }

    /// The largest number of points that are kept, of 48 bytes each; of more, every second, fourth, … one.
    static let maximumPointCount = 65_536

    package let format: Format
    /// The length of the index file in bytes.
    package let fileByteCount: Int64
    /// The length of the compressed data in bytes; nil when the file does not tell.
    package let compressedByteCount: Int64?
    /// The length of the decoded bytes; nil when the file does not tell.
    package let byteCount: Int64?
    /// The number of points in the file.
    package let statedPointCount: Int64
    /// The points in ascending order, as far as they are kept.
    package let points: [Point]
    private let file: IndexDescriptor

    /// Parses an index file; returns nil when its beginning is that of no known format.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a file that is truncated or contradicts itself,
    ///   ``BlobError/Code/unsupported`` for a newer version, and errors of reading the file.
    init?(_ file: IndexDescriptor) throws(BlobError) {
        guard let format = try Format(file) else { return nil }
        var parser = ForeignParser(file, format)
        switch format {
        case .bgzip: try parser.parseBgzip()
        case .indexedGzip: try parser.parseIndexedGzip()
        case .gztool: try parser.parseGztool()
        }
        (self.format, self.file, self.fileByteCount) = (format, file, file.byteCount)
        (self.compressedByteCount, self.byteCount) = (parser.compressedByteCount, parser.byteCount)
        (self.statedPointCount, self.points) = (parser.pointCount, parser.points)
    }

    /// Returns the window of a point: at most 32 KiB, in which bytes may be zero that nothing refers to; nil when the
    /// file has none.
    ///
    /// - Throws: ``BlobError/Code/corrupted``, and errors of reading the file.
    package func window(of point: Point) throws(BlobError) -> [UInt8]? {
        guard let place = point.window else { return nil }
        let bytes = try self.file.read(at: place.byteOffset, count: place.byteCount)
        guard place.isPacked else { return bytes.suffix(Inflater.windowByteCount) }
        var inflater = try Inflater()
        var window = [UInt8](repeating: 0, count: Inflater.windowByteCount)
        let count = try window.withMutableBytes { window throws(BlobError) in
            var output = OutputRawSpan(buffer: window, initializedCount: 0)
            try bytes.withBytes { bytes throws(BlobError) in
                // The header of zlib has two bytes.
                var rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(2))
                while output.freeCapacity > 0, try !inflater.decode(&rest, into: &output), !rest.isEmpty {}
            }
            return output.finalize(for: window)
        }
        return Array(window.prefix(count))
    }
}

extension ForeignIndex.Format {
    /// The first bytes of the files; those of bgzip begin with a number.
    fileprivate static let gzidxBeginning = Array("GZIDX".utf8)
    fileprivate static let gztoolBeginning = [UInt8](repeating: 0, count: 8) + Array("gzipind".utf8)

    /// Returns the format of a file by its first bytes and its length; nil when it is none.
    fileprivate init?(_ file: IndexDescriptor) throws(BlobError) {
        let beginning = try file.read(at: 0, count: Int(min(file.byteCount, 16)))
        if beginning.starts(with: Self.gzidxBeginning) {
            self = .indexedGzip
        } else if beginning.starts(with: Self.gztoolBeginning) {
            self = .gztool
        } else if beginning.count >= 8, file.byteCount % 16 == 8,
            UInt64(file.byteCount / 16) == beginning.prefix(8).reversed().reduce(0, { $0 << 8 | UInt64($1) })
        {
            self = .bgzip
        } else {
            return nil
        }
    }
}

extension IndexFile {
    /// Returns the index of another tool in the place of this file; nil when there is none.
    ///
    /// The file must be named by the user, and belong to this one; it is never changed.
    ///
    /// - Throws: See ``ForeignIndex``.
    package func foreignIndex() throws(BlobError) -> ForeignIndex? {
        guard self.folder == nil else { return nil }
        let file: IndexDescriptor
        do throws(BlobError) {
            file = try IndexDescriptor(path: self.path)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
        guard file.isRegular, file.isOwn else { return nil }
        return try ForeignIndex(file)
    }
}
