import ArgumentParser
import BlobStreamsStandard

/// A format that is decoded without a confined helper process only when the user allows it.
enum AllowedFormat: Hashable, ExpressibleByArgument {
    case archive(ArchiveFormat)
    /// Pictures and films.
    case media

    private static let mediaName = "media"

    static var allValueStrings: [String] { ArchiveFormat.isolated.map(\.rawValue).sorted() + [self.mediaName] }

    /// Creates a format from its name; nil for a name that `--allow-format` does not take.
    init?(argument: String) {
        if argument == Self.mediaName {
            self = .media
        } else if let format = ArchiveFormat(rawValue: argument), ArchiveFormat.isolated.contains(format) {
            self = .archive(format)
        } else {
            return nil
        }
    }

    var archive: ArchiveFormat? {
        if case .archive(let format) = self { format } else { nil }
    }
}
