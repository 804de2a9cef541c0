import BlobCore
import BlobDeflate

/// A comparison of an index with the content that it describes.
///
/// The whole is decoded from its start first, without the index, which verifies all bytes by their trailers and shows
/// whether the checksums of the index are right. Then each slice is decoded from its restart point and its window, and
/// must give the bytes of these checksums.
struct IndexVerification {
    private let index: GzipIndex
    private let opening: IndexedOpening
    /// The faults of the slices.
    private var faults: [Int: String] = [:]
    /// The faults of the whole.
    private var fault: String?

    /// The number of decoded bytes in one step.
    private static let stepByteCount = 256 * 1024

    init(_ index: GzipIndex, _ opening: IndexedOpening) {
        (self.index, self.opening) = (index, opening)
    }

    /// Compares, and calls `report` with a sentence on each fault.
    ///
    /// - Parameter reader: A reader of all decoded bytes that uses no index.
    mutating func run(_ reader: BlobReader, report: (String) throws -> Void) throws {
        try self.compareSums(reader)
        let layout = self.index.layout
        for slice in layout.points.indices {
            if self.faults[slice] == nil { try self.compare(slice) }
            guard let fault = self.faults[slice] else { continue }
            let point = layout.points[slice]
            try report("Restart point \(slice), at bit \(point.bitOffset) and byte \(point.byteOffset): \(fault)")
        }
        if let fault { try report(fault) }
    }

    /// Decodes everything without the index, and compares the checksums of all segments.
    private mutating func compareSums(_ reader: BlobReader) throws {
        let layout = self.index.layout
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.stepByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var (byteOffset, slice, sum) = (Int64(0), 0, CRC32())
        var segmentStart: Int64 = 0
        while case let count = try reader.readWaiting(into: buffer), count > 0 {
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !rest.isEmpty, byteOffset < layout.byteCount {
                let end = min(segmentStart + PointRecorder.sumByteCount, layout.slice(slice).upperBound)
                let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(end - byteOffset)))
                rest = UnsafeRawBufferPointer(rebasing: rest[part.count...])
                sum.update(part)
                byteOffset += Int64(part.count)
                guard byteOffset == end else { continue }
                if sum.value != layout.sum(of: slice, at: segmentStart), self.faults[slice] == nil {
                    self.faults[slice] = "the checksum of the bytes from \(segmentStart) on is wrong."
                }
                (sum, segmentStart) = (CRC32(), end)
                if end == layout.slice(slice).upperBound { slice += 1 }
            }
            byteOffset += Int64(rest.count)
        }
        if byteOffset != layout.byteCount {
            self.fault = "There are \(byteOffset) decoded bytes, the index says \(layout.byteCount)."
        }
    }

    /// Decodes a slice from its restart point.
    private mutating func compare(_ slice: Int) throws {
        let end = self.index.layout.slice(slice).upperBound
        do {
            let window = try self.index.windowInFile(of: slice)
            let decoder = try SegmentDecoder(self.index, slice: slice, window: window, self.opening)
            defer { decoder.close() }
            let buffer = Window(Self.stepByteCount)
            while decoder.byteOffset < end {
                let byteCount = decoder.segmentsByteCount(
                    beginningWithin: Int64(buffer.capacity) - PointRecorder.sumByteCount + 1)
                try buffer.fill { try decoder.decode(byteCount, into: &$0) }
            }
            if decoder.isAtEnd { try decoder.finish() }
        } catch let error where error.isContentError {
            let error = (error as? IndexMismatch)?.error ?? BlobError(wrapping: error)
            self.faults[slice] = error.message
        }
    }
}
