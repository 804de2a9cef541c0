#if Command && Photos
import ArgumentParser
import AssetLibrarySource
import BlobHelper
import BlobStreamsStandard
import Foundation

struct LibraryAdjustCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adjust", abstract: "Crops, rotates or brightens a picture.",
        discussion: """
            The original never changes. The options replace all earlier adjustments of the picture.

            The options replace all earlier adjustments of the picture. They apply to the picture as displayed, in \
            this order: orientation, rotate, straighten, crop, exposure. The original never changes: \
            '&version=original' at the end of the URL selects it. The current version is rendered as JPEG when it is \
            read. If an adjustment that was imported with the picture, or added by --sidecar, cannot be rendered, \
            reading fails, unless the URL ends with '&unrenderable=original', or with '&unrenderable=render' for the \
            picture of --stored-render. The option --unrenderable sets this for all URLs of a command.

            EXAMPLES:
              blob library adjust UUID --rotate 90 --exposure 0.5
              blob library adjust UUID --crop 0,0,800,600 --render cropped.jpg
            """)

    @Argument(help: "The URL of the asset, or its identifier.")
    var asset: String

    @Option(
        help: ArgumentHelp(
            "Crop to a rectangle, in pixels.",
            discussion: "The numbers are the left edge, the top edge, the width and the height.", valueName: "x,y,w,h"))
    var crop: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Rotate clockwise by 90, 180 or 270 degrees.", valueName: "degrees"))
    var rotate: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Rotate clockwise by -45 to 45 degrees.",
            discussion: "Without --crop, the picture is cropped to the largest rectangle that fits inside.",
            valueName: "degrees"))
    var straighten: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Change the exposure by this many stops, -10 to 10.",
            discussion: "A stop is a factor of two.", valueName: "ev"))
    var exposure: Double?

    @Option(help: ArgumentHelp("Replace the orientation in the metadata, from 1 to 8.", valueName: "n"))
    var orientation: Int?

    @Option(
        help: .advanced(
            "Store another program's adjustment, an AAE or XMP file.",
            discussion: "Adjustments made here take precedence.", valueName: "file"))
    var sidecar: String?

    @Option(
        help: .advanced(
            "Store an asset as the rendering of the adjustment.",
            discussion: "The asset must show the current adjustment, as rendered by another program.",
            valueName: "asset"))
    var storedRender: String?

    @Flag(
        help: ArgumentHelp(
            "Remove the adjustments made here.",
            discussion: "Imported adjustments apply again."))
    var reset = false

    @Option(help: ArgumentHelp("Also write the current version to this file.", valueName: "file"))
    var render: String?

    @OptionGroup var rendering: RenderingOptions

    @OptionGroup var confinement: ConfinementOptions

    @OptionGroup var options: LibraryOptions

    private var hasEdits: Bool {
        self.crop != nil || self.rotate != nil || self.straighten != nil || self.exposure != nil
            || self.orientation != nil
    }

    private var isChange: Bool {
        self.reset || self.hasEdits || self.sidecar != nil || self.storedRender != nil
    }

    func validate() throws {
        guard !self.reset || !self.hasEdits else {
            throw ValidationError("--reset cannot be used with other adjustments.")
        }
        guard self.isChange || self.render != nil else {
            throw ValidationError("Specify an adjustment, --sidecar, --stored-render, --reset or --render.")
        }
        if let rotate, rotate % 90 != 0 {
            throw ValidationError("--rotate must be a multiple of 90; use --straighten for other angles.")
        }
        if let straighten, !(-45...45).contains(straighten) {
            throw ValidationError("--straighten must be from -45 to 45 degrees.")
        }
        if let exposure, !(-10...10).contains(exposure) { throw ValidationError("--exposure must be from -10 to 10.") }
        if let orientation, !(1...8).contains(orientation) {
            throw ValidationError("--orientation must be from 1 to 8.")
        }
        if self.crop != nil, self.rectangle == nil {
            throw ValidationError("--crop requires four numbers of pixels: x,y,width,height.")
        }
    }

    private var rectangle: PictureRectangle? {
        let parts = self.crop?.split(separator: ",", omittingEmptySubsequences: false) ?? []
        let numbers = parts.compactMap { Int($0) }
        guard parts.count == 4, numbers.count == 4 else { return nil }
        return PictureRectangle(left: numbers[0], top: numbers[1], width: numbers[2], height: numbers[3])
    }

    func run() throws {
        let context = self.options.makeContext(self.confinement)
        let library = try self.options.place.openLibrary(for: self.isChange ? .writing : .reading)
        let identifiers = try assetIDs([self.asset] + [self.storedRender].compactMap { $0 })
        let id = identifiers[0]
        if self.reset || self.hasEdits { try library.setAdjustment(self.recipe(of: id, in: library), of: id) }
        if let sidecar { try library.setAdjustment(of: id, sidecar: sidecar) }
        if self.storedRender != nil { try library.setRender(identifiers[1], of: id) }
        if let render {
            try library.source(for: id, unrenderable: self.rendering.unrenderable.policy)
                .write(to: URL(fileURLWithPath: render), context: context)
        }
    }

    /// Returns the recipe that the options describe; nil with `--reset`, and for an asset that does not exist.
    private func recipe(of id: UUID, in library: AssetLibrary) throws(BlobError) -> AdjustmentRecipe? {
        guard self.hasEdits, let asset = try library.asset(id) else { return nil }
        var edits = AdjustmentRecipe.Edits()
        edits.orientation = self.orientation
        edits.quarterTurns = (self.rotate ?? 0) / 90
        edits.straightening = self.straighten ?? 0
        edits.crop = self.rectangle
        edits.exposure = self.exposure ?? 0
        return try AdjustmentRecipe(edits, of: asset.media)
    }
}
#endif
