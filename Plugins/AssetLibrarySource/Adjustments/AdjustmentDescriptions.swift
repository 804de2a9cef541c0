#if Photos
import BlobCore
import BlobHelper

/// The size and the orientation of a picture as a decoder returns it.
///
/// Decoders rotate only HEIF pictures.
struct DecodedPicture {
    /// The size; nil if it is unknown, or if the format is not rendered.
    var size: PictureSize?
    /// The orientation in the metadata, 1 to 8.
    var orientation: Int

    /// The media types that the renderer reads.
    private static let mediaTypes: Set = [
        "image/jpeg", "image/png", "image/heic", "image/avif", "image/webp", "image/tiff",
    ]

    init(_ media: MediaDescription) {
        guard media.mediaType.map(Self.mediaTypes.contains) ?? true else {
            (self.size, self.orientation) = (nil, 1)
            return
        }
        let stored = media.pixelWidth.flatMap { width in
            media.pixelHeight.map { PictureSize(width: width, height: $0) }
        }
        let number = media.orientation ?? 1
        guard media.mediaType == "image/heic" || media.mediaType == "image/avif" else {
            (self.size, self.orientation) = (stored, number)
            return
        }
        let turn = PictureOrientation(number) ?? .identity
        (self.size, self.orientation) = (stored.map(turn.applied), 1)
    }
}

/// The stored descriptions of an asset's adjustment.
struct AdjustmentDescriptions {
    /// The kinds of sidecars that describe the adjustment of a picture.
    enum SidecarKind: String, CaseIterable {
        /// `NAME.AAE`, the adjustment data of Apple's systems.
        case aae
        /// `NAME.xmp` or `NAME.EXT.xmp`.
        case xmp
    }

    /// The library's own recipe, as JSON.
    var recipe: [UInt8]?
    /// The contents of sidecars; empty for a sidecar that is too long to be stored.
    var sidecars: [SidecarKind: [UInt8]] = [:]
    /// The XMP packet in the original; empty unless it mentions adjustments.
    var embedded: [UInt8] = []

    /// The digest of all descriptions.
    var sha256: [UInt8] {
        let parts = [self.recipe ?? []] + SidecarKind.allCases.map { self.sidecars[$0] ?? [] } + [self.embedded]
        return parts.flatMap { part in withUnsafeBytes(of: part.count) { Array($0) } + part }.sha256
    }

    /// Returns the adjustment from the first existing description.
    ///
    /// The order is: the library's own recipe, AAE, the XMP sidecar, the XMP packet in the picture.
    ///
    /// Adjustments of other programs are recognised, but not rendered. A description that cannot be interpreted results
    /// in ``Adjustment/notRenderable(_:)``, never in ``Adjustment/none``.
    func adjustment(of picture: DecodedPicture) -> Adjustment {
        if let recipe {
            let found = try? Self.checkedAdjustment(.renderable(AdjustmentRecipe(recipe)), picture)
            return found ?? .notRenderable([AdjustmentRecipe.formatIdentifier])
        }
        guard self.sidecars[.aae] == nil else { return .notRenderable(["AAE"]) }
        if self.sidecars[.xmp]?.isEmpty == true { return .notRenderable(["XMP"]) }
        for bytes in [self.sidecars[.xmp] ?? [], self.embedded] where XMPPacket.mentionsAdjustments(bytes) {
            guard let names = try? XMPPacket(bytes).adjustments else { return .notRenderable(["XMP"]) }
            guard names.isEmpty else { return .notRenderable(names) }
        }
        return .none
    }

    /// Checks that a recipe can be rendered for this picture.
    ///
    /// - Returns: ``Adjustment/none`` for a recipe that only applies the orientation in the metadata, as every viewer
    ///   does.
    static func checkedAdjustment(_ found: Adjustment, _ picture: DecodedPicture) throws(BlobError) -> Adjustment {
        guard case .renderable(let recipe) = found else { return found }
        guard let size = picture.size else {
            throw BlobError(.unsupported, "The size of the picture is unknown.")
        }
        let plan = try RenderPlan(recipe, for: size)
        if let turn = plan.turnAndCrop, turn.crop == nil, turn.orientation.number == picture.orientation {
            return .none
        }
        return found
    }
}
#endif
