public import ArgumentParser
public import BlobStandardSources

extension ArchiveFormat: ExpressibleByArgument {
    /// The names of the formats that have to be allowed.
    public static var allValueStrings: [String] { self.isolated.map(\.rawValue).sorted() }

    /// Creates a format from its name; nil if it is not one that has to be allowed.
    public init?(argument: String) {
        guard let format = ArchiveFormat(rawValue: argument), Self.isolated.contains(format) else { return nil }
        self = format
    }
}
