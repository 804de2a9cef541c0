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
        let opening = IndexedOpening(
            base: self.base, baseValidator: baseInfo.validator, format: self.format, library: self.library,
            tuning: self.tuning, context: context)
        let reader = try self.reader(at: 0, of: baseInfo, context, isFallback: true)
        defer { reader.close() }
        var verification = IndexVerification(index, opening)
        try verification.run(reader, report: report)
        return index.layout.points.count
    }
}
