import ArgumentParser
import BlobStreamsStandard

extension ArchiveFormat: ExpressibleByArgument {
    /// Those that must be allowed.
    public static var allValueStrings: [String] { self.foreign.map(\.rawValue).sorted() }

    /// One of them.
    public init?(argument: String) {
        guard let format = ArchiveFormat(rawValue: argument), Self.foreign.contains(format) else { return nil }
        self = format
    }
}
