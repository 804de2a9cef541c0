internal import BlobBlocks
package import BlobCore
package import BlobIndex

extension DecompressedSource: RestartPointListing {
    /// Returns the starts of the blocks, as the data or an index list them; nil when neither does.
    package func restartPoints(_ context: BlobContext) throws -> RestartPoints? {
        let context = context.blocking
        let info = try self.base.info(context)
        guard let base = BlockBase(self.base, info, context), let list = try self.list(base, context) else {
            return nil
        }
        return RestartPoints(
            list.starts.map { RestartPoints.Point(byteOffset: $0.decoded, compressedByteOffset: $0.compressed) },
            end: RestartPoints.Point(byteOffset: list.byteCount, compressedByteOffset: info.byteCount ?? 0))
    }
}

extension MemberSource: RestartPointListing {
    /// Returns the restart points of a member: those of its own, or those of an archive in which it is stored.
    func restartPoints(_ context: BlobContext) throws -> RestartPoints? {
        let found = try self.find(context, isAlone: true).found
        if let member = found.indexed { return try member.restartPoints(context) }
        guard let range = found.storedRange else { return nil }
        return try (self.underlying as? any RestartPointListing)?.restartPoints(context)?.places(in: range)
    }
}
