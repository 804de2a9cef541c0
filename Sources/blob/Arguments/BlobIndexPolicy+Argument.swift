public import ArgumentParser
public import BlobStreamsStandard

/// The value of `--index`.
extension BlobIndexPolicy: ExpressibleByArgument {
    /// Creates a policy from `auto`, `none` or the path of a file; nil for an empty argument.
    public init?(argument: String) {
        switch argument {
        case "": return nil
        case "auto": self = .automatic
        case "none": self = .none
        default: self = .file(argument)
        }
    }

    /// The policy as written on the command line.
    public var defaultValueDescription: String {
        switch self.place {
        case .none: "none"
        case .automatic: "auto"
        case .folder(let path, _), .file(let path): path
        }
    }
}
