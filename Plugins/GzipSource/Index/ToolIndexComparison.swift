import BlobCore
import BlobDeflate
internal import BlobIndex

/// Compares another tool's index with the data while the data is decoded from its start.
///
/// A point is correct if a deflate block, a member's data or a member begins at its bit and its decoded byte, and its
/// window contains the decoded bytes before it. Zero bytes in a window are not compared, because `rapidgzip` replaces
/// unreferenced bytes with zeros.
final class ToolIndexComparison {
    private let index: ToolIndex
    private var number = 0

    /// A sentence about each wrong point, in ascending order.
    private(set) var faults: [String] = []

    /// The distance before a point, in decoded bytes, at which the search for block ends begins. It exceeds one step of
    /// decoding.
    private static let margin: Int64 = 512 * 1024

    init(_ index: ToolIndex) { self.index = index }

    private var nextPoint: ToolIndex.Point? {
        self.number < self.index.points.count ? self.index.points[self.number] : nil
    }

    /// Returns true if the next point may be among the decoded bytes from an offset on.
    func wantsBlockEnd(from byteOffset: Int64) -> Bool {
        self.nextPoint.map { $0.restartPoint.byteOffset <= byteOffset + Self.margin } ?? false
    }

    /// Compares the points up to a position at which decoding can begin.
    ///
    /// - Parameter window: The decoded bytes before the position; nil before a member or its data.
    func compare(bitOffset: Int64, byteOffset: Int64, window: UnsafeRawBufferPointer? = nil) {
        while let point = self.nextPoint,
            (point.restartPoint.byteOffset, point.restartPoint.bitOffset) < (byteOffset, bitOffset)
        {
            self.fail(point, "decoding cannot begin there.")
        }
        guard let point = self.nextPoint,
            point.restartPoint == RestartPoint(bitOffset: bitOffset, byteOffset: byteOffset)
        else {
            return
        }
        guard let window, byteOffset > 0 else { return self.number += 1 }
        do throws(BlobError) {
            let stored = try self.index.window(of: point) ?? []
            let count = min(stored.count, window.count)
            let isRight = zip(stored.suffix(count), window.suffix(count)).allSatisfy { $0 == 0 || $0 == $1 }
            if isRight, count == min(window.count, Inflater.windowByteCount) {
                self.number += 1
            } else {
                self.fail(point, "its window does not match the data.")
            }
        } catch {
            self.fail(point, error.message)
        }
    }

    /// Compares the remaining points with the end, and compares the lengths.
    func finish(compressedByteCount: Int64, byteCount: Int64) {
        while let point = self.nextPoint {
            // Tools write a last point after the last block or after the trailer.
            let isAtEnd =
                point.restartPoint.byteOffset == byteCount && point.restartPoint.bitOffset <= compressedByteCount * 8
            if isAtEnd { self.number += 1 } else { self.fail(point, "decoding cannot begin there.") }
        }
        if let stated = self.index.byteCount, stated != byteCount {
            self.faults.append("There are \(byteCount) decoded bytes, but the index says \(stated).")
        }
    }

    private func fail(_ point: ToolIndex.Point, _ reason: String) {
        let place = point.restartPoint
        self.faults.append("Point \(self.number) (bit \(place.bitOffset), byte \(place.byteOffset)): \(reason)")
        self.number += 1
    }
}
