import BlobCore
import Foundation

/// Adjustments as Shotwell's catalogue has them: a key file (GLib) with a group for each kind.
///
/// The picture as stored is straightened, in a larger one that holds all of it, then cropped, then changed in its
/// colours, and turned at last; see `Photo.vala`. Colours and red eyes are Shotwell's own, and not renderable.
enum ShotwellAdjustment {
    private static let identifier = "org.gnome.shotwell"
    /// The range of brightness that is not expanded.
    private static let neutralExpansion = "{ 0, 255 }"

    static func adjustment(_ text: String, orientation: Int, of media: MediaDescription) -> Adjustment {
        guard text.utf8.count <= AdjustmentRecipe.byteLimit, let groups = self.parse(text) else {
            return .notRenderable([self.identifier])
        }
        let foreign = groups.filter { !self.isNeutral($0.key, $0.value) && !["crop", "straighten"].contains($0.key) }
        guard foreign.isEmpty else {
            return .notRenderable(
                foreign.keys.sorted().map { "\(self.identifier).\($0.filter(\.isLetter).prefix(32))" })
        }
        guard let width = media.pixelWidth, let height = media.pixelHeight else {
            return groups.isEmpty ? .none : .notRenderable([self.identifier])
        }
        var operations: [AdjustmentOperation] = []
        if let group = groups["straighten"] {
            guard let angle = group["angle"].flatMap(Double.init), abs(angle) <= 90,
                let operation = self.straightening(degrees: angle, width: width, height: height)
            else { return .notRenderable(["\(self.identifier).straighten"]) }
            if angle != 0 { operations.append(operation) }
        }
        if let group = groups["crop"] {
            let edges = ["left", "top", "right", "bottom"].compactMap {
                group[$0].flatMap { Int32($0) }.map { Int($0) }
            }
            guard edges.count == 4 else { return .notRenderable(["\(self.identifier).crop"]) }
            // The last column and the last row belong to it.
            operations.append(
                .crop(
                    PictureRectangle(
                        left: edges[0], top: edges[1], width: edges[2] - edges[0] + 1, height: edges[3] - edges[1] + 1))
            )
        }
        guard (1...8).contains(orientation) else { return .notRenderable(["\(self.identifier).orientation"]) }
        operations.append(.orientation(orientation))
        return .renderable(AdjustmentRecipe(operations))
    }

    /// Returns the turn about the centre of the picture, into one that is just large enough; nil when it is too large.
    ///
    /// Half sizes are rounded down, as `rotate_arb` of `util/image.vala` has them.
    private static func straightening(degrees: Double, width: Int, height: Int) -> AdjustmentOperation? {
        let angle = abs(degrees) * .pi / 180
        let size = (
            width: (Double(width) * cos(angle) + Double(height) * sin(angle)).rounded(),
            height: (Double(height) * cos(angle) + Double(width) * sin(angle)).rounded()
        )
        let edges = 1...Double(AdjustmentOperation.edgeLimit)
        guard edges.contains(size.width), edges.contains(size.height) else { return nil }
        let matrix = AffineMatrix(
            degrees: degrees, about: (Double(width / 2), Double(height / 2)),
            to: (Double(Int(size.width) / 2), Double(Int(size.height) / 2)))
        return .affine(matrix, width: Int(size.width), height: Int(size.height))
    }

    /// Returns true for a group that changes nothing.
    private static func isNeutral(_ group: String, _ values: [String: String]) -> Bool {
        switch group {
        case "adjustments":
            values.allSatisfy { key, value in
                key == "expansion" ? value == self.neutralExpansion || value == "-" : Double(value) == 0
            }
        case "redeye": values["num_points"].flatMap { Int($0) } == 0
        default: false
        }
    }

    /// Returns the values by group and key; nil for what is no key file.
    private static func parse(_ text: String) -> [String: [String: String]]? {
        var groups: [String: [String: String]] = [:]
        var group: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line.hasPrefix("["), line.hasSuffix("]"), line.count > 2 {
                group = String(line.dropFirst().dropLast())
                groups[group ?? "", default: [:]] = groups[group ?? ""] ?? [:]
            } else if let group, let mark = line.firstIndex(of: "=") {
                let key = line[..<mark].trimmingCharacters(in: .whitespaces)
                groups[group]?[key] = line[line.index(after: mark)...].trimmingCharacters(in: .whitespaces)
            } else {
                return nil
            }
        }
        return groups
    }
}
