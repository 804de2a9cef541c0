import BlobCore
import Foundation

/// Adjustments in the XMP of Adobe's programs, as far as their effect is documented: the crop and the exposure.
///
/// See developer.adobe.com/xmp/docs/XMPNamespaces/crs. The corners of a crop are fractions of the picture as stored; a
/// crop at an angle is turned about its centre. Any other setting that is not neutral is not renderable.
enum AdobeAdjustment {
    static let namespace = "http://ns.adobe.com/camera-raw-settings/1.0/"

    /// Settings that describe the file or the program, or that have an effect with other settings only.
    private static let neutral: Set<String> = [
        "AlreadyApplied", "CompatibleVersion", "CropAngle", "CropBottom", "CropConstrainToUnitSquare",
        "CropConstrainToWarp", "CropHeight", "CropLeft", "CropRight", "CropTop", "CropUnit", "CropUnits", "CropWidth",
        "Exposure2012", "HasCrop", "HasSettings", "OverrideLookVignette", "ParametricHighlightSplit",
        "ParametricMidtoneSplit", "ParametricShadowSplit", "PostCropVignetteFeather", "PostCropVignetteMidpoint",
        "ProcessVersion", "RawFileName", "SharpenDetail", "SharpenEdgeMasking", "SharpenRadius", "ToneCurveName",
        "ToneCurveName2012", "Version", "ColorNoiseReductionDetail", "ColorNoiseReductionSmoothness",
        "LuminanceNoiseReductionContrast", "LuminanceNoiseReductionDetail", "DefringeGreenHueHi", "DefringeGreenHueLo",
        "DefringePurpleHueHi", "DefringePurpleHueLo", "GrainFrequency", "GrainSize", "ColorGradeBlending",
    ]

    static func adjustment(in packet: XMPPacket, of picture: DecodedPicture) throws(BlobError) -> Adjustment {
        let properties = try packet.properties(in: self.namespace)
        guard !properties.isEmpty, !self.isTrue(properties["AlreadyApplied"]) else { return .none }
        let others = properties.filter { !self.neutral.contains($0.key) && !self.hasNoEffect($0.value) }.keys.sorted()
        guard others.isEmpty, let size = picture.size else { return .notRenderable(others.map { "crs:\($0)" }) }
        var operations: [AdjustmentOperation] = []
        var isExact = true
        if self.isTrue(properties["HasCrop"]) {
            let names = ["CropLeft", "CropTop", "CropRight", "CropBottom"]
            let corners = names.compactMap { properties[$0]?.text.flatMap(Double.init) }
            let angle = properties["CropAngle"].map { $0.text.flatMap(Double.init) ?? .nan } ?? 0
            guard corners.count == 4, let crop = self.crop(corners, angle, size) else {
                return .notRenderable(names.map { "crs:\($0)" })
            }
            operations.append(crop)
            isExact = angle == 0
        }
        if let exposure = properties["Exposure2012"] {
            guard let value = exposure.text.flatMap(Double.init), value.isFinite else {
                return .notRenderable(["crs:Exposure2012"])
            }
            if value != 0 { operations.append(.exposure(value)) }
        }
        guard !operations.isEmpty else { return .none }
        return .renderable(AdjustmentRecipe(operations + [.orientation(picture.orientation)]), isExact: isExact)
    }

    private static func crop(_ corners: [Double], _ angle: Double, _ size: PictureSize) -> AdjustmentOperation? {
        guard corners.allSatisfy({ (-1...2).contains($0) }), (-90...90).contains(angle) else { return nil }
        let (left, top) = (corners[0] * Double(size.width), corners[1] * Double(size.height))
        let (right, bottom) = (corners[2] * Double(size.width), corners[3] * Double(size.height))
        guard angle != 0 else {
            let (x, y) = (Int(clamping: left), Int(clamping: top))
            let crop = PictureRectangle(
                left: x, top: y, width: Int(clamping: right) - x, height: Int(clamping: bottom) - y)
            return crop.isWithin(size) ? .crop(crop) : nil
        }
        // The corners are two opposite ones of the turned rectangle.
        let radians = angle * .pi / 180
        let width = Int(clamping: (right - left) * cos(radians) + (bottom - top) * sin(radians))
        let height = Int(clamping: (bottom - top) * cos(radians) - (right - left) * sin(radians))
        guard width > 0, height > 0 else { return nil }
        let matrix = AffineMatrix(
            degrees: -angle, about: ((left + right) / 2, (top + bottom) / 2),
            to: (Double(width) / 2, Double(height) / 2))
        return .affine(matrix, width: width, height: height)
    }

    private static func isTrue(_ property: XMPPacket.Property?) -> Bool { property?.text?.lowercased() == "true" }

    /// Returns true for a setting that is off, zero, as shot, or a straight curve.
    private static func hasNoEffect(_ property: XMPPacket.Property) -> Bool {
        if let text = property.text {
            return ["", "False", "false", "As Shot", "Linear", "None"].contains(text) || Double(text) == 0
        }
        return property.name.local.hasPrefix("ToneCurve") && property.items == ["0, 0", "255, 255"]
    }
}
