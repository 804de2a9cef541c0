import BlobCore
import Foundation

/// Adjustments in the XMP of iOS 5 to 7: an affine transformation, and a crop after it.
///
/// Their coordinates are those of Core Image: pixels as stored, from the bottom left corner upwards. The interpolation
/// is not documented, and neither are properties other than these.
enum AppleXMPAdjustment {
    static let namespace = "http://ns.apple.com/adjustment-settings/1.0/"
    private static let affine = ["AffineA", "AffineB", "AffineC", "AffineD", "AffineX", "AffineY"]
    private static let crop = ["CropX", "CropY", "CropW", "CropH"]

    static func adjustment(in packet: XMPPacket, of picture: DecodedPicture) throws(BlobError) -> Adjustment {
        let properties = try packet.properties(in: self.namespace)
        guard !properties.isEmpty else { return .none }
        let unknown = Set(properties.keys).subtracting(self.affine + self.crop).sorted()
        guard unknown.isEmpty, let size = picture.size,
            let affine = self.numbers(self.affine, properties, default: [1, 0, 0, 1, 0, 0]),
            let crop = self.numbers(self.crop, properties, default: [])
        else { return .notRenderable((unknown.isEmpty ? properties.keys.sorted() : unknown).map { "aas:\($0)" }) }
        let height = Double(size.height)
        let box = crop.isEmpty ? self.bounds(affine, size) : crop
        guard box.allSatisfy({ abs($0) <= Double(AdjustmentOperation.edgeLimit) && $0 == $0.rounded() }),
            box[2] >= 1, box[3] >= 1
        else { return .notRenderable(self.crop.map { "aas:\($0)" }) }
        let (a, b, c, d) = (affine[0], affine[1], affine[2], affine[3])
        let matrix = AffineMatrix(
            a: a, b: -b, c: -c, d: d, tx: c * height + affine[4] - box[0],
            ty: box[1] + box[3] - d * height - affine[5])
        let (width, length) = (Int(box[2]), Int(box[3]))
        let place = PictureRectangle(
            left: Int(clamping: -matrix.tx), top: Int(clamping: -matrix.ty), width: width, height: length)
        let isMove =
            [a, b, c, d] == [1, 0, 0, 1] && matrix.tx == matrix.tx.rounded() && matrix.ty == matrix.ty.rounded()
        let operation: AdjustmentOperation =
            isMove && place.isWithin(size) ? .crop(place) : .affine(matrix, width: width, height: length)
        return .renderable(
            AdjustmentRecipe([operation, .orientation(picture.orientation)]), isExact: isMove && place.isWithin(size))
    }

    /// Returns the values of properties; the default when there are none, nil when only some are there or numbers.
    private static func numbers(
        _ names: [String], _ properties: [String: XMPPacket.Property], default: [Double]
    ) -> [Double]? {
        guard names.contains(where: { properties[$0] != nil }) else { return `default` }
        let values = names.compactMap { properties[$0]?.text.flatMap(Double.init) }.filter { $0.isFinite }
        return values.count == names.count ? values : nil
    }

    /// Returns the rectangle around the transformed picture: x, y, width and height.
    private static func bounds(_ affine: [Double], _ size: PictureSize) -> [Double] {
        let (width, height) = (Double(size.width), Double(size.height))
        let corners = [(0, 0), (width, 0), (0, height), (width, height)]
        let x = corners.map { affine[0] * $0.0 + affine[2] * $0.1 + affine[4] }
        let y = corners.map { affine[1] * $0.0 + affine[3] * $0.1 + affine[5] }
        let (left, bottom) = ((x.min() ?? 0).rounded(.down), (y.min() ?? 0).rounded(.down))
        return [left, bottom, (x.max() ?? 0).rounded(.up) - left, (y.max() ?? 0).rounded(.up) - bottom]
    }
}

extension Int {
    /// Creates the nearest integer to a finite number.
    init(clamping value: Double) { self = Int(Swift.min(1e9, Swift.max(-1e9, value.rounded()))) }
}
