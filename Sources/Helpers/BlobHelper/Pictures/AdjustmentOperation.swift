package import BlobCore
import BlobPlatform

/// An operation on a picture. Together, the formulas below are the specification of all renderers.
///
/// Coordinates are in pixels from the top left corner of the picture before the operation; the centre of the first
/// pixel is at (0.5, 0.5). Samples are 8 bits, encoded as in sRGB (IEC 61966-2-1), regardless of the picture's profile;
/// results are rounded to the nearest number, halves up, and clamped to 0...255. Transparent pixels are black.
package enum AdjustmentOperation: Hashable, Sendable, Codable {
    /// Turns and mirrors the picture so that a picture with this orientation number, 1 to 8 (TIFF 6.0, tag 274),
    /// becomes upright.
    case orientation(Int)
    /// Rotates the content clockwise by degrees, -180 to 180, about the centre of the picture, whose size does not
    /// change. Bicubic interpolation; pixels from outside the picture are black.
    case straighten(degrees: Double)
    /// Moves the content at (x, y) to (a x + c y + tx, b x + d y + ty), in a new picture of the given size. Bicubic
    /// interpolation; pixels from outside the picture are black.
    case affine(AffineMatrix, width: Int, height: Int)
    /// Crops the picture to a rectangle, which must be within it.
    case crop(PictureRectangle)
    /// Multiplies linear light by 2 to the power of the value, -10 to 10.
    case exposure(Double)

    /// The length of the longest edge in pixels, as in JPEG.
    package static let maximumEdgeLength = 65_535
    /// The maximum absolute value of a number in a matrix.
    private static let maximumMagnitude = 1e6

    /// Checks the ranges of the values.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if a value is out of range.
    package func check() throws(BlobError) {
        let edges = 1...Self.maximumEdgeLength
        let isValid =
            switch self {
            case .orientation(let number): (1...8).contains(number)
            case .straighten(let degrees): (-180...180).contains(degrees)
            case .affine(let matrix, let width, let height):
                matrix.numbers.allSatisfy { abs($0) <= Self.maximumMagnitude } && abs(matrix.determinant) > 1e-6
                    && edges.contains(width) && edges.contains(height)
            case .crop(let rectangle):
                rectangle.isWithin(PictureSize(width: Self.maximumEdgeLength, height: Self.maximumEdgeLength))
            case .exposure(let value): (-10...10).contains(value)
            }
        guard isValid else {
            throw BlobError(.invalidArgument, "A value of the adjustment '\(self.name)' is out of range.")
        }
    }

    /// The output byte for each sample value, if the operation maps single samples; nil for any other operation.
    package var table: [UInt8]? {
        guard case .exposure(let value) = self else { return nil }
        return (0...255).map { sample in
            let light = Self.encoded(Self.linear(Double(sample) / 255) * exp2(value))
            return UInt8((min(1, max(0, light)) * 255 + 0.5).rounded(.down))
        }
    }

    /// The transfer function of IEC 61966-2-1 and its inverse.
    private static func linear(_ value: Double) -> Double {
        value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    private static func encoded(_ value: Double) -> Double {
        value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1 / 2.4) - 0.055
    }

    // MARK: JSON

    private enum Key: String, CodingKey {
        case name, value, matrix, rectangle, width, height
    }

    /// The name in a recipe.
    package var name: String {
        switch self {
        case .orientation: "orientation"
        case .straighten: "straighten"
        case .affine: "affine"
        case .crop: "crop"
        case .exposure: "exposure"
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(self.name, forKey: .name)
        switch self {
        case .orientation(let number): try values.encode(number, forKey: .value)
        case .straighten(let value), .exposure(let value): try values.encode(value, forKey: .value)
        case .affine(let matrix, let width, let height):
            try values.encode(matrix, forKey: .matrix)
            try values.encode(width, forKey: .width)
            try values.encode(height, forKey: .height)
        case .crop(let rectangle): try values.encode(rectangle, forKey: .rectangle)
        }
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let name = try values.decode(String.self, forKey: .name)
        switch name {
        case "orientation": self = .orientation(try values.decode(Int.self, forKey: .value))
        case "straighten": self = .straighten(degrees: try values.decode(Double.self, forKey: .value))
        case "affine":
            self = .affine(
                try values.decode(AffineMatrix.self, forKey: .matrix),
                width: try values.decode(Int.self, forKey: .width),
                height: try values.decode(Int.self, forKey: .height))
        case "crop": self = .crop(try values.decode(PictureRectangle.self, forKey: .rectangle))
        case "exposure": self = .exposure(try values.decode(Double.self, forKey: .value))
        default: throw BlobError(.unsupported, "Unknown adjustment '\(name)'.")
        }
        try self.check()
    }
}

/// The numbers of ``AdjustmentOperation/affine(_:width:height:)``.
package struct AffineMatrix: Hashable, Sendable, Codable {
    package var a: Double
    package var b: Double
    package var c: Double
    package var d: Double
    package var tx: Double
    package var ty: Double

    package init(a: Double, b: Double, c: Double, d: Double, tx: Double, ty: Double) {
        (self.a, self.b, self.c, self.d, self.tx, self.ty) = (a, b, c, d, tx, ty)
    }

    /// Creates a clockwise rotation by degrees that moves `centre` to `target`.
    package init(degrees: Double, about centre: (x: Double, y: Double), to target: (x: Double, y: Double)) {
        let angle = degrees * .pi / 180
        let (cosine, sine) = (cos(angle), sin(angle))
        self.init(
            a: cosine, b: sine, c: -sine, d: cosine, tx: target.x - cosine * centre.x + sine * centre.y,
            ty: target.y - sine * centre.x - cosine * centre.y)
    }

    package var numbers: [Double] { [self.a, self.b, self.c, self.d, self.tx, self.ty] }

    package var determinant: Double { self.a * self.d - self.b * self.c }
}
