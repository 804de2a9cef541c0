package import BlobCore
package import BlobIndex

extension GzipSource: RestartPointListing {
    /// Returns the restart points of the index; nil without one.
    package func restartPoints(_ context: BlobContext) throws -> RestartPoints? {
        guard let layout = try self.holder.index(of: self.base.info(context), context)?.layout else { return nil }
        let points = layout.points.map {
            RestartPoints.Point(byteOffset: $0.byteOffset, compressedByteOffset: $0.bitOffset / 8)
        }
        return RestartPoints(
            points,
            end: RestartPoints.Point(
                byteOffset: layout.byteCount, compressedByteOffset: layout.compressedByteCount))
    }
}
