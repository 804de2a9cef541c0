package import BlobCore
package import BlobIndex

extension ArchiveContainer: IndexVerifying {
    /// Verifies the index of the archive's source; the table of members has one checksum, verified when it is read.
    package func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        try (self.base as? any IndexVerifying)?.verifyIndex(context, report: report)
    }
}

extension ArchiveContainer: ForeignIndexImporting {
    /// Makes an index of the archive's source, when that is a gzip.
    package func importIndex(_ index: ForeignIndex, _ context: BlobContext) throws -> Bool {
        guard let base = self.base as? any ForeignIndexImporting else {
            throw BlobError(.unsupported, "The index is one of gzip data, and the archive is not in a gzip.")
        }
        return try base.importIndex(index, context)
    }
}
