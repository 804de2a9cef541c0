import BlobCore
import Foundation

/// The content of an AAE file: a property list with the fields of Apple's `PHAdjustmentData`.
///
/// Rendered are our own recipes, and of Apple's `com.apple.photo` the adjustments whose effect does not depend on what
/// Apple does not document: the orientation, and a crop at no angle that is as far from the top as from the bottom.
struct AppleAdjustmentData {
    /// The length of the longest file in bytes.
    static let byteLimit = MarkupElement.byteLimit

    let formatIdentifier: String
    let formatVersion: String
    let data: [UInt8]

    /// - Throws: ``BlobError/Code/corrupted``, ``BlobError/Code/limitExceeded``.
    init(_ file: [UInt8]) throws(BlobError) {
        guard file.count <= Self.byteLimit else {
            throw BlobError(.limitExceeded, "An AAE file has \(file.count) bytes, more than \(Self.byteLimit).")
        }
        // The decoder of Foundation bounds the depth of binary lists, and not that of others.
        let fields = try file.starts(with: "bplist00".utf8) ? Self.binary(file) : Self.markup(file)
        guard let identifier = fields.adjustmentFormatIdentifier, let data = fields.adjustmentData else {
            throw BlobError(.corrupted, "The AAE file lacks the format or the data of the adjustment.")
        }
        self.formatIdentifier = identifier
        self.formatVersion = fields.adjustmentFormatVersion ?? ""
        self.data = Array(data)
    }

    private struct Fields: Decodable {
        var adjustmentFormatIdentifier: String?
        var adjustmentFormatVersion: String?
        var adjustmentData: Data?
    }

    private static func binary(_ file: [UInt8]) throws(BlobError) -> Fields {
        do {
            return try PropertyListDecoder().decode(Fields.self, from: Data(file))
        } catch {
            throw BlobError(.corrupted, "The AAE file is not a valid property list.", cause: error)
        }
    }

    private static func markup(_ file: [UInt8]) throws(BlobError) -> Fields {
        let root = try MarkupElement.parse(file)
        guard root.name.local == "plist", let dictionary = root.children.first, dictionary.name.local == "dict" else {
            throw BlobError(.corrupted, "The AAE file is not a property list of a dictionary.")
        }
        var fields = Fields()
        for (key, value) in zip(dictionary.children, dictionary.children.dropFirst()) where key.name.local == "key" {
            switch (key.text, value.name.local) {
            case ("adjustmentFormatIdentifier", "string"): fields.adjustmentFormatIdentifier = value.text
            case ("adjustmentFormatVersion", "string"): fields.adjustmentFormatVersion = value.text
            case ("adjustmentData", "data"):
                fields.adjustmentData = Data(base64Encoded: value.text, options: .ignoreUnknownCharacters)
            default: break
            }
        }
        return fields
    }

    // MARK: What it says

    /// - Throws: ``BlobError/Code/corrupted`` and ``BlobError/Code/limitExceeded`` for damaged data.
    func adjustment(of picture: DecodedPicture) throws(BlobError) -> Adjustment {
        switch self.formatIdentifier {
        case AdjustmentRecipe.formatIdentifier: .renderable(try AdjustmentRecipe(self.data), isExact: true)
        case "com.apple.photo": try self.photo(picture)
        default: .notRenderable([self.formatIdentifier])
        }
    }

    private func photo(_ picture: DecodedPicture) throws(BlobError) -> Adjustment {
        let json = try Self.inflate(self.data)
        let edits: Edits
        do {
            edits = try JSONDecoder().decode(Edits.self, from: Data(json))
        } catch {
            throw BlobError(.corrupted, "The adjustment data are not those of com.apple.photo.", cause: error)
        }
        let enabled = edits.adjustments.filter(\.isEnabled)
        guard !enabled.isEmpty else { return .none }
        let unknown = enabled.filter { $0.identifier != "Crop" && $0.identifier != "Orientation" }.map(\.identifier)
        guard unknown.isEmpty, let size = picture.size else { return .notRenderable(unknown) }
        var crop: AdjustmentOperation?
        var orientation = picture.orientation
        for adjustment in enabled {
            let values = adjustment.settings
            if adjustment.identifier == "Orientation", let value = values["value"], (1...8).contains(value),
                value == value.rounded()
            {
                orientation = Int(value)
            } else if adjustment.identifier == "Crop", crop == nil, let found = Self.crop(values, size) {
                crop = .crop(found)
            } else {
                return .notRenderable([adjustment.identifier])
            }
        }
        return .renderable(
            AdjustmentRecipe([crop, .orientation(orientation)].compactMap { $0 }), isExact: false)
    }

    /// Returns the rectangle; nil where it depends on the direction of the axes, on an angle or on a perspective.
    private static func crop(_ values: [String: Double], _ size: PictureSize) -> PictureRectangle? {
        let angles = ["straightenAngle", "angle", "yaw", "pitch"]
        guard angles.allSatisfy({ (values[$0] ?? 0) == 0 }), let left = values["xOrigin"], let top = values["yOrigin"],
            let width = values["width"], let height = values["height"],
            [left, top, width, height].allSatisfy({ abs($0) < Double(AdjustmentOperation.edgeLimit) }),
            abs(2 * top + height - Double(size.height)) <= 1
        else { return nil }
        let crop = PictureRectangle(
            left: Int(clamping: left), top: Int(clamping: top), width: Int(clamping: width),
            height: Int(clamping: height))
        return crop.isWithin(size) ? crop : nil
    }

    private struct Edits: Decodable {
        let adjustments: [Edit]
    }

    private struct Edit: Decodable {
        let identifier: String
        let isEnabled: Bool
        /// The settings that are numbers or truth values.
        let settings: [String: Double]

        private enum Key: String, CodingKey {
            case identifier, enabled, settings
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            self.identifier = try values.decode(String.self, forKey: .identifier)
            self.isEnabled = try values.decodeIfPresent(Number.self, forKey: .enabled)?.value != 0
            let settings = try values.decodeIfPresent([String: Number].self, forKey: .settings)
            self.settings = settings?.compactMapValues(\.value) ?? [:]
        }
    }

    /// A number or a truth value; systems differ in which they write. Nil for anything else.
    private struct Number: Decodable {
        let value: Double?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self.value =
                (try? container.decode(Double.self)) ?? (try? container.decode(Bool.self)).map { $0 ? 1 : 0 }
        }
    }
}
