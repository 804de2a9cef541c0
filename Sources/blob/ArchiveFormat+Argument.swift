import ArgumentParser
import BlobStreamsStandard

extension ArchiveFormat: ExpressibleByArgument {
    public static var allValueStrings: [String] { self.foreign.map(\.rawValue).sorted() }

    /// One that must be allowed.
    public init?(argument: String) {
        guard let format = ArchiveFormat(rawValue: argument), Self.foreign.contains(format) else { return nil }
        self = format
    }
}
