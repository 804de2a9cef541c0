import BlobCore
import Foundation

extension AdjustmentOperation: Codable {
    private enum Key: String, CodingKey {
        case name, value, table, matrix, rectangle, width, height
    }

    /// The name in a recipe.
    var name: String {
        switch self {
        case .orientation: "orientation"
        case .straighten: "straighten"
        case .affine: "affine"
        case .crop: "crop"
        case .exposure: "exposure"
        case .brightness: "brightness"
        case .contrast: "contrast"
        case .tone: "tone"
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(self.name, forKey: .name)
        switch self {
        case .orientation(let number): try values.encode(number, forKey: .value)
        case .straighten(let value), .exposure(let value), .brightness(let value), .contrast(let value):
            try values.encode(value, forKey: .value)
        case .affine(let matrix, let width, let height):
            try values.encode(matrix, forKey: .matrix)
            try values.encode(width, forKey: .width)
            try values.encode(height, forKey: .height)
        case .crop(let rectangle): try values.encode(rectangle, forKey: .rectangle)
        case .tone(let table): try values.encode(Data(table), forKey: .table)
        }
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let name = try values.decode(String.self, forKey: .name)
        let number = { try values.decode(Double.self, forKey: .value) }
        switch name {
        case "orientation": self = .orientation(try values.decode(Int.self, forKey: .value))
        case "straighten": self = .straighten(degrees: try number())
        case "affine":
            self = .affine(
                try values.decode(AffineMatrix.self, forKey: .matrix),
                width: try values.decode(Int.self, forKey: .width),
                height: try values.decode(Int.self, forKey: .height))
        case "crop": self = .crop(try values.decode(PictureRectangle.self, forKey: .rectangle))
        case "exposure": self = .exposure(try number())
        case "brightness": self = .brightness(try number())
        case "contrast": self = .contrast(try number())
        case "tone": self = .tone(Array(try values.decode(Data.self, forKey: .table)))
        default: throw BlobError(.unsupported, "There is no adjustment '\(name)'.")
        }
        try self.check()
    }
}
