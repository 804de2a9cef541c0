import ArgumentParser
import BlobStreamsStandard

/// The value of `--index`.
extension BlobIndexPolicy: ExpressibleByArgument {
    /// `auto`, `none`, or the path of a file.
    public init?(argument: String) {
        switch argument {
        case "": return nil
        case "auto": self = .automatic
        case "none": self = .none
        default: self = .file(argument)
        }
    }

    /// As it is written.
    public var defaultValueDescription: String {
        switch self {
        case .none: "none"
        case .automatic: "auto"
        case .folder(let path, _), .file(let path): path
        }
    }
}
