package import BlobCore
internal import BlobIndex

extension ArchiveContainer: IndexVerifying {
    /// Verifies the index of the archive's source; the table of members has one checksum, verified when it is read.
    package func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        try (self.base as? any IndexVerifying)?.verifyIndex(context, report: report)
    }
}
