package import BlobCore
import Foundation

extension AdjustmentRecipe {
    /// The edits of a picture as people see it, upright.
    package struct Edits {
        /// The orientation, 1 to 8, instead of that in the metadata; nil for that.
        package var orientation: Int?
        /// Quarter turns clockwise, after the orientation.
        package var quarterTurns = 0
        /// The angle clockwise in degrees. Without a crop, the largest rectangle of the same proportions is kept that
        /// has no corner outside of the picture.
        package var straightening = 0.0
        /// The rectangle of the turned picture that is kept; nil for all of it.
        package var crop: PictureRectangle?
        /// The exposure in steps: powers of two.
        package var exposure = 0.0

        package init() {}
    }

    /// Creates the recipe of edits.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for values outside of their ranges or of the picture,
    ///   ``BlobError/Code/unsupported`` for a picture without a known size.
    package init(_ edits: Edits, of media: MediaDescription) throws(BlobError) {
        let picture = DecodedPicture(media)
        guard let size = picture.size else {
            throw BlobError(.unsupported, "The asset is no picture of a known size, and cannot be adjusted.")
        }
        let number = edits.orientation ?? picture.orientation
        guard var turn = PictureOrientation(number), let quarter = PictureOrientation(6) else {
            throw BlobError(.invalidArgument, "An orientation is 1 to 8, and not \(number).")
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
    /// Returns the largest rectangle of the same proportions and centre that is within the picture after a turn about
    /// its centre, without the outermost pixels, which the interpolation mixes with the outside.
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
