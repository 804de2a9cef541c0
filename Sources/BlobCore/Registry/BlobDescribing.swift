/// A source that knows more of its blob than ``BlobInfo`` has a place for.
public protocol BlobDescribing: BlobInputStreamDataSource {
    /// What is known, in the order in which it is to be shown; without reading more than headers and indexes.
    ///
    /// - Throws: As ``BlobInputStreamDataSource/describe(_:)``.
    func facts(_ context: BlobContext) throws -> [BlobFact]
}
