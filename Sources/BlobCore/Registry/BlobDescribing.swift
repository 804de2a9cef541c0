/// A source with facts for which ``BlobInfo`` has no place, such as the number of members of a gzip or the permissions
/// of a file in an archive.
public protocol BlobDescribing: BlobInputStreamDataSource {
    /// Returns the facts in the order in which they are shown, without reading more than headers and indexes.
    ///
    /// - Returns: Names of a few words in lower case, the same for every blob of the format, with the unit if there is
    ///   one ("members", "restart point spacing in bytes"), and values: `String`, `Int64`, `Bool` or `Date`.
    /// - Throws: The errors of ``BlobInputStreamDataSource/describe(_:)``.
    func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)]
}
