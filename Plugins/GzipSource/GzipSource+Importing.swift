package import BlobCore
package import BlobIndex

extension GzipSource: ForeignIndexImporting {
    package func importIndex(_ index: ForeignIndex, _ context: BlobContext) throws -> Bool {
        guard let place = try self.holder.newIndexPlace(isRequired: true, context) else { return false }
        let comparison = ForeignComparison(index)
        try self.compare(comparison, with: index, IndexRecording(place, self.tuning, comparison), context)
        if let fault = comparison.faults.first {
            throw BlobError(
                .inconsistent,
                "The \(index.format.rawValue) index is not that of these data (faults: \(comparison.faults.count), "
                    + "points: \(index.points.count)). \(fault)")
        }
        return try self.describe(context).byteCount != nil
    }

    /// Decodes everything once, and compares the index of another tool with it.
    func compare(
        _ comparison: ForeignComparison, with index: ForeignIndex, _ recording: IndexRecording, _ context: BlobContext
    ) throws {
        let info = try self.base.info(context)
        if let stated = index.compressedByteCount, let byteCount = info.byteCount, stated != byteCount {
            throw BlobError(
                .inconsistent,
                "The \(index.format.rawValue) index is that of \(stated) compressed bytes, and there are \(byteCount).")
        }
        try self.record(recording, context)
    }
}
