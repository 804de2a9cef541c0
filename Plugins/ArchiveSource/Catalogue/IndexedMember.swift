import BlobCore
internal import BlobIndex

/// A member that is decoded with an index of its own.
protocol IndexedMember: Sendable {
    /// Returns true when there is an index, so that any offset is reached at once.
    func hasIndex(_ context: BlobContext) throws(BlobError) -> Bool

    /// Returns the bytes of the member from an offset on.
    func makeBody(at byteOffset: Int64, _ info: BlobInfo, _ context: BlobContext) throws(BlobError) -> BlobBody

    /// Returns the restart points of the index; nil without one.
    func restartPoints(_ context: BlobContext) throws -> RestartPoints?

    /// Builds the index unless there is one; returns true when there is one now.
    func buildIndex(_ context: BlobContext) throws -> Bool

    /// Verifies the index as ``IndexVerifying`` does.
    func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int?
}
