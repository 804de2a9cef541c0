import BlobCore
import BlobDeflate
internal import BlobIndex

/// Compares an index with the content that it describes.
///
/// First, everything is decoded from the start without the index, which verifies all bytes by their trailers and shows
/// whether the checksums in the index are correct. Then each slice is decoded from its restart point and its window,
/// and must match these checksums.
struct IndexVerification {
    private let index: GzipIndex
    private let opening: IndexedOpening
    /// The faults, keyed by slice.
    private var faults: [Int: String] = [:]
    /// The fault of the index as a whole.
    private var fault: String?

    /// The number of decoded bytes in one step.
    private static let stepByteCount = 256 * 1024

    init(_ index: GzipIndex, _ opening: IndexedOpening) {
        (self.index, self.opening) = (index, opening)
    }

    /// Compares everything, and calls `report` with a sentence about each fault.
    ///
    /// - Parameter reader: A reader of all decoded bytes that does not use an index.
    mutating func run(_ reader: BlobReader, report: (String) throws -> Void) throws {
        try self.compareChecksums(reader)
        let layout = self.index.layout
        for slice in layout.points.places.indices {
            if self.faults[slice] == nil { try self.compare(slice) }
            guard let fault = self.faults[slice] else { continue }
            let point = layout.points[slice]
            try report("Restart point \(slice) (bit \(point.bitOffset), byte \(point.byteOffset)): \(fault)")
        }
        if let fault { try report(fault) }
    }

    /// Decodes everything without the index, and compares the checksums of all segments.
    private mutating func compareChecksums(_ reader: BlobReader) throws {
        let layout = self.index.layout
        for slice in layout.points.places.indices {
            for segment in layout.segments(of: slice) {
                let bytes = try reader.bytes(atMost: segment.count)
                guard bytes.count == segment.count, self.faults[slice] == nil,
                    CRC32(of: bytes).value != layout.sum(of: slice, at: segment.lowerBound)
                else { continue }
                self.faults[slice] = "the checksum of the bytes from \(segment.lowerBound) on is wrong."
            }
        }
        while try !reader.bytes(atMost: Self.stepByteCount).isEmpty {}
        if reader.byteOffset != layout.byteCount {
            self.fault = "There are \(reader.byteOffset) decoded bytes, but the index says \(layout.byteCount)."
        }
    }

    /// Decodes a slice from its restart point.
    private mutating func compare(_ slice: Int) throws {
        let end = self.index.layout.points.slice(slice).upperBound
        do {
            let window = try self.index.windowInFile(of: slice)
            let decoder = try SegmentDecoder(self.index, slice: slice, window: window, self.opening)
            defer { decoder.close() }
            let buffer = Window(Self.stepByteCount)
            while decoder.byteOffset < end {
                let byteCount = decoder.segmentsByteCount(
                    beginningWithin: Int64(buffer.capacity) - GzipIndexLayout.segmentByteCount + 1)
                try buffer.fill { try decoder.decode(byteCount, into: &$0) }
            }
            if decoder.isAtEnd { try decoder.finish() }
        } catch let error where error.isContentError {
            let error = (error as? IndexMismatch)?.error ?? BlobError(wrapping: error)
            self.faults[slice] = error.message
        }
    }
}
