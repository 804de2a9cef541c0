/// An orientation of a picture: one of the eight symmetries of a rectangle, numbered as in TIFF 6.0, tag 274.
package struct PictureOrientation: Hashable {
    /// True if rows and columns are exchanged, before any mirroring.
    private let transposes: Bool
    private let mirrorsColumns: Bool
    private let mirrorsRows: Bool

    package static let identity = PictureOrientation(transposes: false, mirrorsColumns: false, mirrorsRows: false)

    private static let numbered = [
        (false, false, false), (false, true, false), (false, true, true), (false, false, true),
        (true, false, false), (true, true, false), (true, true, true), (true, false, true),
    ].map { PictureOrientation(transposes: $0.0, mirrorsColumns: $0.1, mirrorsRows: $0.2) }

    private init(transposes: Bool, mirrorsColumns: Bool, mirrorsRows: Bool) {
        (self.transposes, self.mirrorsColumns, self.mirrorsRows) = (transposes, mirrorsColumns, mirrorsRows)
    }

    /// Creates the transformation that shows a picture with this orientation number upright; returns nil unless the
    /// number is 1 to 8.
    package init?(_ number: Int) {
        guard Self.numbered.indices.contains(number - 1) else { return nil }
        self = Self.numbered[number - 1]
    }

    /// The number, 1 to 8.
    package var number: Int { (Self.numbered.firstIndex(of: self) ?? 0) + 1 }

    /// Returns the orientation of a picture that is first transformed by this and then by `other`.
    package func followed(by other: PictureOrientation) -> PictureOrientation {
        let (columns, rows) =
            other.transposes ? (self.mirrorsRows, self.mirrorsColumns) : (self.mirrorsColumns, self.mirrorsRows)
        return PictureOrientation(
            transposes: self.transposes != other.transposes, mirrorsColumns: columns != other.mirrorsColumns,
            mirrorsRows: rows != other.mirrorsRows)
    }

    /// The transformation that undoes this one.
    package var inverse: PictureOrientation {
        Self.numbered.first { self.followed(by: $0) == .identity } ?? .identity
    }

    /// Returns the size of a transformed picture.
    package func applied(to size: PictureSize) -> PictureSize {
        self.transposes ? PictureSize(width: size.height, height: size.width) : size
    }

    /// Returns the rectangle of a picture that is transformed to `rectangle`.
    ///
    /// - Parameter size: The size of the picture before the transformation.
    package func preimage(of rectangle: PictureRectangle, in size: PictureSize) -> PictureRectangle {
        let after = self.applied(to: size)
        var (left, top) = (rectangle.left, rectangle.top)
        if self.mirrorsColumns { left = after.width - left - rectangle.width }
        if self.mirrorsRows { top = after.height - top - rectangle.height }
        guard self.transposes else {
            return PictureRectangle(left: left, top: top, width: rectangle.width, height: rectangle.height)
        }
        return PictureRectangle(left: top, top: left, width: rectangle.height, height: rectangle.width)
    }
}

/// The size of a picture in pixels; the width and the height are at least 1.
package struct PictureSize: Hashable, Sendable {
    package var width: Int
    package var height: Int

    package init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}

/// A rectangle in a picture, in pixels from its top left corner.
package struct PictureRectangle: Hashable, Sendable, Codable {
    package var left: Int
    package var top: Int
    package var width: Int
    package var height: Int

    package init(left: Int, top: Int, width: Int, height: Int) {
        (self.left, self.top, self.width, self.height) = (left, top, width, height)
    }

    /// Returns true if the rectangle has pixels, and all of them are in a picture of this size.
    package func isWithin(_ size: PictureSize) -> Bool {
        self.left >= 0 && self.top >= 0 && self.width > 0 && self.height > 0 && self.left <= size.width - self.width
            && self.top <= size.height - self.height
    }
}
