#if Photos
package import BlobCore
package import BlobHelper
import Foundation

/// The operations that produce the current version of a picture from its original.
///
/// The operations apply in order to the pixels as stored. They ignore the orientation in the metadata, so a recipe
/// begins with that orientation, if any. As JSON, a recipe has the same envelope as Apple's `PHAdjustmentData`: an
/// identifier and a version of its format.
package struct AdjustmentRecipe: Hashable, Sendable {
    static let formatIdentifier = "org.blobstreams.adjustment"
    static let formatVersion = "1"
    /// The maximum number of operations.
    static let maximumOperationCount = 64
    /// The maximum length of a recipe as JSON, in bytes.
    static let byteLimit = 256 << 10

    package var operations: [AdjustmentOperation]

    package init(_ operations: [AdjustmentOperation]) { self.operations = operations }

    /// The JSON with sorted keys and without white space, so that equal recipes have equal bytes.
    var canonicalBytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let document = Document(
            formatIdentifier: Self.formatIdentifier, formatVersion: Self.formatVersion, operations: self.operations)
        // Encoding cannot fail: numbers that JSON lacks, such as infinity, are outside the ranges of all values.
        return (try? encoder.encode(document)).map(Array.init) ?? []
    }

    /// Decodes a recipe from JSON.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` for another format, version or operation; ``BlobError/Code/corrupted``
    ///   for other invalid JSON; ``BlobError/Code/limitExceeded`` for a recipe that is too long; the errors thrown by
    ///   ``check()``.
    init(_ json: [UInt8]) throws(BlobError) {
        guard json.count <= Self.byteLimit else {
            throw BlobError(
                .limitExceeded, "The recipe has \(json.count) bytes, more than the limit of \(Self.byteLimit).")
        }
        do {
            let decoder = JSONDecoder()
            let format = try decoder.decode(Format.self, from: Data(json))
            guard format.formatIdentifier == Self.formatIdentifier, format.formatVersion == Self.formatVersion else {
                throw BlobError(
                    .unsupported,
                    "The recipe has the format \(format.formatIdentifier) \(format.formatVersion), which is not "
                        + "supported."
                )
            }
            self.operations = try decoder.decode(Document.self, from: Data(json)).operations
        } catch let error as BlobError where error.code == .unsupported {
            throw error
        } catch {
            throw BlobError(.corrupted, "The recipe is not valid.", cause: error)
        }
        try self.check()
    }

    /// Checks the number of operations and the ranges of all values.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a value outside its range; ``BlobError/Code/limitExceeded`` for
    ///   too many operations.
    func check() throws(BlobError) {
        guard self.operations.count <= Self.maximumOperationCount else {
            throw BlobError(
                .limitExceeded, "The recipe has more operations than the limit of \(Self.maximumOperationCount).")
        }
        for operation in self.operations { try operation.check() }
    }

    private struct Format: Decodable {
        let formatIdentifier: String
        let formatVersion: String
    }

    private struct Document: Codable {
        let formatIdentifier: String
        let formatVersion: String
        let operations: [AdjustmentOperation]
    }

    // MARK: Edits

    /// The edits of a picture as displayed upright.
    package struct Edits {
        /// The orientation, 1 to 8, which replaces the orientation in the metadata; nil to keep it.
        package var orientation: Int?
        /// Quarter turns clockwise, after the orientation.
        package var quarterTurns = 0
        /// The clockwise angle in degrees.
        ///
        /// Without a crop, the result is the largest rectangle of the same proportions whose corners all lie within the
        /// picture.
        package var straightening = 0.0
        /// The part of the rotated picture to keep; nil for the whole picture.
        package var crop: PictureRectangle?
        /// The exposure in stops: the base-2 logarithm of the factor.
        package var exposure = 0.0

        package init() {}
    }

    /// Creates the recipe for edits.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for values outside their ranges or outside the picture,
    ///   ``BlobError/Code/unsupported`` for a picture of unknown size.
    package init(_ edits: Edits, of media: MediaDescription) throws(BlobError) {
        let picture = DecodedPicture(media)
        guard let size = picture.size else {
            throw BlobError(.unsupported, "The asset cannot be adjusted, because it is not a picture of a known size.")
        }
        let number = edits.orientation ?? picture.orientation
        guard var turn = PictureOrientation(number), let quarter = PictureOrientation(6) else {
            throw BlobError(.invalidArgument, "The orientation must be a number from 1 to 8, not \(number).")
        }
        for _ in 0..<(((edits.quarterTurns % 4) + 4) % 4) { turn = turn.followed(by: quarter) }
        var operations = [AdjustmentOperation.orientation(turn.number)]
        if edits.straightening != 0 { operations.append(.straighten(degrees: edits.straightening)) }
        if let crop = edits.crop {
            operations.append(.crop(crop))
        } else if edits.straightening != 0 {
            operations.append(.crop(turn.applied(to: size).inscribed(degrees: edits.straightening)))
        }
        if edits.exposure != 0 { operations.append(.exposure(edits.exposure)) }
        self.init(operations)
        _ = try RenderPlan(self, for: size)
    }
}

extension PictureSize {
    /// Returns the largest rectangle of the same proportions and centre within the picture after a rotation about its
    /// centre, without the outermost pixels, which interpolation blends with the outside.
    fileprivate func inscribed(degrees: Double) -> PictureRectangle {
        let (cosine, sine) = (abs(cos(degrees * .pi / 180)), abs(sin(degrees * .pi / 180)))
        let (width, height) = (Double(self.width), Double(self.height))
        let scale = min(width / (width * cosine + height * sine), height / (width * sine + height * cosine))
        let (left, top) = (
            Int((width * (1 - scale) / 2).rounded(.up)) + 1, Int((height * (1 - scale) / 2).rounded(.up)) + 1
        )
        return PictureRectangle(
            left: min(left, (self.width - 1) / 2), top: min(top, (self.height - 1) / 2),
            width: max(1, self.width - 2 * left), height: max(1, self.height - 2 * top))
    }
}

/// The adjustment of an asset, from the first description found.
package enum Adjustment: Hashable, Sendable {
    /// The original is the current version.
    case none
    /// The recipe produces the current version.
    case renderable(AdjustmentRecipe)
    /// The picture was adjusted in ways that only the adjusting program can render; the identifiers name them.
    case notRenderable([String])
}

extension RenderPlan {
    /// - Throws: The errors thrown by ``AdjustmentRecipe/check()`` and ``init(_:for:)``.
    init(_ recipe: AdjustmentRecipe, for size: PictureSize) throws(BlobError) {
        try recipe.check()
        try self.init(recipe.operations, for: size)
    }
}
#endif
