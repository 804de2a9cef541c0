package import BlobCore
internal import BlobIndex

extension GzipSource: IndexVerifying {
    package func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        let baseInfo = try self.base.info(context)
        guard let index = try self.holder.index(of: baseInfo, context) else {
            guard let foreign = try self.holder.foreignIndex() else { return nil }
            let comparison = ForeignComparison(foreign)
            try self.compare(comparison, with: foreign, IndexRecording(nil, self.tuning, comparison), context)
            for fault in comparison.faults { try report(fault) }
            return foreign.points.count
        }
        let unindexed = GzipSource(
            self.base, format: self.format, index: .none, library: self.library, tuning: self.tuning)
        let reader = try unindexed.open(matching: self.decoded(baseInfo, nil).validator, context: context)
        defer { reader.close() }
        var verification = IndexVerification(index, self.indexedOpening(baseInfo, context))
        try verification.run(reader, report: report)
        return index.layout.points.count
    }
}
