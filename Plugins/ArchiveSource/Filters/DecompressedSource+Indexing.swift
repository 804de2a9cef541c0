internal import BlobBlocks
public import BlobCore
internal import BlobIndex

extension DecompressedSource: BlobIndexing {
    /// Makes an index of the blocks of bzip2 or Zstandard data that do not list them, unless there is one already.
    ///
    /// Decodes everything once. False for data without several blocks, for those that list their blocks, and for other
    /// formats.
    public func buildIndex(_ context: BlobContext) throws -> Bool {
        guard let info = try self.unlisted(context) else { return false }
        if try self.holder.index(of: info, context) != nil { return true }
        guard let place = try self.holder.newIndexPlace(isRequired: true, context) else { return false }
        try self.record(context) { base in self.recording(of: base, at: place) }
        return try self.holder.index(of: info, context) != nil
    }

    /// Returns a recording that writes an index.
    func recording(of base: BlockBase, at place: NewIndexPlace) -> BlockRecording {
        BlockRecording(of: base) { index in
            // The index is looked up by the whole content, so it must be made from the whole content.
            guard index.compressedByteCount == place.content.byteCount else { return }
            try place.write { () throws(BlobError) in index.sections(layer: place.layer) }
        }
    }

    /// Returns the info of the base, when its blocks could be in an index.
    private func unlisted(_ context: BlobContext) throws -> BlobInfo? {
        guard self.blocks.isIndexable, self.base.traits.contains(.repeatable) else { return nil }
        let info = try self.base.info(context)
        guard let base = BlockBase(self.base, info, context), try self.blocks.table(base) == nil else { return nil }
        return info
    }

    /// Decodes everything from the beginning, without an index, and reports the bytes that are read of the base.
    private func record(_ context: BlobContext, _ makeRecording: (BlockBase) -> BlockRecording) throws {
        let counted = self.base.counting { _, _, _ in }
        guard let base = BlockBase(counted, try self.base.info(context), context) else { return }
        let body = try self.decodedBlocks(base, at: 0, nil, makeRecording(base), context)
        let reader = try BlobReader(body, BlobOpening(context: context))
        defer { reader.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.stepByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        while try reader.readWaiting(into: buffer) > 0 {}
    }

    /// The number of decoded bytes in one step.
    private static let stepByteCount = 256 * 1024
}

extension DecompressedSource: IndexVerifying {
    package func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        guard let info = try self.unlisted(context), let index = try self.holder.index(of: info, context) else {
            return nil
        }
        let found = Locked<BlockIndex?>(nil)
        try self.record(context) { base in BlockRecording(of: base) { index in found.withLock { $0 = index } } }
        guard let current = found.withLock({ $0 }) else {
            try report("The data are not in several blocks that can be decoded apart from each other.")
            return index.blockCount
        }
        return try index.compare(with: current, report: report)
    }
}
