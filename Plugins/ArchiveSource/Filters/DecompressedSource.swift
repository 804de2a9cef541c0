internal import BlobBlocks
public import BlobCore
package import BlobIndex

/// The decompressed bytes of another source, in a format that libarchive decodes.
///
/// Consecutive streams or frames are all decoded (for LZMA, only one), and every checksum of the format is checked
/// before the end. Data after the last one throws ``BlobError/Code/trailingData``, except for zeros, which tapes and
/// disks leave. ``CompressionFormat`` documents which formats have no checksum: in these, damage can look like data.
///
/// The blocks of xz and the frames of Zstandard are decoded on several threads, and an offset is reached by its block,
/// when the base is repeatable and has random access and a length, and the library of the format can be loaded; see
/// ``BlobInfo/isRandomAccess``. From the index of an xz and the table of seekable Zstandard data, the length is known,
/// too; an index has it, with the blocks of bzip2 and of other Zstandard data. Everything else is decoded from the
/// beginning, in one pass.
///
/// Takes the memory of the format's window, and with several threads at most 128 MiB more. A stream, block or frame
/// that asks for more than ``BlobContext/memoryLimit`` throws ``BlobError/Code/limitExceeded`` before the memory is
/// allocated.
public struct DecompressedSource: BlobLayer {
    /// The source of the compressed bytes.
    public var underlying: any BlobInputStreamDataSource { self.base }

    let base: any BlobInputStreamDataSource
    let blocks: BlockAccess
    let holder: IndexHolder<BlockIndex>
    private let format: CompressionFormat

    /// The number of compressed bytes from which an index is worth its space: about 150 milliseconds of decoding.
    private static let worthwhileByteCount: Int64 = 1 << 20

    /// Creates a source without reading anything, and without an index.
    public init(_ base: any BlobInputStreamDataSource, format: CompressionFormat) {
        self.init(base, format: format, index: .none)
    }

    /// - Parameter index: The place where the index of the blocks is kept.
    package init(_ base: any BlobInputStreamDataSource, format: CompressionFormat, index: BlobIndexPolicy) {
        self.base = base
        self.format = format
        self.blocks = BlockAccess(scheme: format.rawValue)
        self.holder = IndexHolder(
            base, scheme: format.rawValue, self.blocks.isIndexable ? index : .none,
            worthwhileByteCount: Self.worthwhileByteCount
        ) { file, layer, content throws(BlobError) in
            try BlockIndex.load(file, layer: layer, content: content)
        }
    }

    /// The traits of the base, except ``BlobTraits/neverBlocks``.
    public var traits: BlobTraits {
        self.base.traits.subtracting(.neverBlocks)
    }

    /// The locator of the base, wrapped in the scheme of the format.
    public var locator: BlobLocator? { try? self.base.locator?.wrapped(in: self.format.rawValue) }

    /// Returns the name of the base without its extension, a validator made from the base's, and the length if the data
    /// have an index.
    public func describe(_ context: BlobContext) throws -> BlobInfo {
        let context = context.blocking  // As decoders do, whoever reads.
        let base = try self.base.info(context)
        return self.info(of: base, try BlockBase(self.base, base, context).flatMap { try self.list($0, context) })
    }

    /// Returns the bytes from the block at the offset on, or from the beginning.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let (byteOffset, context) = (opening.byteOffset, opening.context.blocking)
        // A base that is not repeatable must not be asked before it is opened.
        guard self.base.traits.contains(.repeatable),
            let base = BlockBase(self.base, try self.base.info(context), context)
        else { return try self.decodedInOrder(nil, context) }
        let list = try self.list(base, context)
        let info = self.info(of: base.info, list)
        try info.check(byteOffset: byteOffset, matching: opening.validator)
        let place = byteOffset == 0 ? try self.holder.newIndexPlace(isRequired: false, context) : nil
        let recording = place.map { self.recording(of: base, at: $0) }
        let body = try self.decodedBlocks(base, at: byteOffset, list, recording, context)
        guard let index = list as? BlockIndex else { return body }
        let decoded = try BlobReader(body, BlobOpening(at: byteOffset, context: context))
        return .inspected(decoded, IndexedLength(index: index, info: info), startingAt: byteOffset)
    }

    /// Returns a body that decodes block by block, or by one decoder. Its info lacks the length in an index, which may be
    /// wrong.
    ///
    /// Nothing that is read from the beginning depends on an index.
    func decodedBlocks(
        _ base: BlockBase, at byteOffset: Int64, _ list: (any BlockList)?, _ recording: BlockRecording?,
        _ context: BlobContext
    ) throws -> BlobBody {
        let info = self.info(of: base.info, list is BlockIndex ? nil : list)
        let index = byteOffset > 0 ? list as? BlockIndex : nil
        let blocks = try self.blocks.body(base, at: byteOffset, info: info, index: index, recording: recording) { _ in
            if index != nil { self.holder.noteRefusal() }
            return try self.decodedInOrder(info, context)
        }
        return try blocks ?? self.decodedInOrder(info, context)
    }

    /// Returns the blocks as the data or an index list them; nil when neither does.
    func list(_ base: BlockBase, _ context: BlobContext) throws -> (any BlockList)? {
        if let table = try self.blocks.table(base) { return table }
        return try self.holder.index(of: base.info, context)
    }

    /// Returns the bytes that one decoder makes from the beginning of the base on.
    ///
    /// - Parameter known: The info of the bytes; nil when it is not known before the base is opened.
    private func decodedInOrder(_ known: BlobInfo?, _ context: BlobContext) throws -> BlobBody {
        let checks = context.eventSink == nil ? nil : StreamChecks()
        let base =
            self.format.inspector(checks, context).map { InspectedSource(base: self.base, inspector: $0) } ?? self.base
        let input = try ArchiveInput(base, context, suffix: self.format.probe)
        let info = self.info(of: input.info, nil)
        try info.check(byteOffset: 0, matching: known?.validator)
        return .stream(DecompressingStream(input, self.format, info: known ?? info, context, checks), startingAt: 0)
    }

    private func info(of base: BlobInfo, _ list: (any BlockList)?) -> BlobInfo {
        BlobInfo(
            byteCount: list?.byteCount, name: base.name.map(self.format.nameOfContent),
            validator: base.validator.map { .combined(self.format.rawValue, [$0]) },
            isRandomAccess: list?.isRandomAccess ?? false)
    }
}

extension DecompressedSource: BlobDescribing {
    /// Returns a fact: whether a checksum protects the bytes. Without one, damage can look like data.
    ///
    /// Empty when the base can be read only once, or the first header does not tell.
    public func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)] {
        guard self.base.traits.contains(.repeatable) else { return [] }
        let input = try ArchiveInput(self.base, context)
        defer { input.close() }
        let beginning = try input.beginning(CompressionFormat.headerByteCount)
        return self.format.hasChecksum(beginning).map { [("has checksum", $0)] } ?? []
    }
}

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
            guard index.points.compressedByteCount == place.content.byteCount else { return }
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
            return index.points.count
        }
        return try index.compare(with: current, report: report)
    }
}

extension DecompressedSource: RestartPointListing {
    /// Returns the starts of the blocks, as the data or an index list them; nil when neither does.
    package func restartPoints(_ context: BlobContext) throws -> RestartPoints? {
        let context = context.blocking
        let info = try self.base.info(context)
        guard let base = BlockBase(self.base, info, context), let list = try self.list(base, context) else {
            return nil
        }
        return RestartPoints(
            list.points.places, compressedByteCount: info.byteCount ?? 0, byteCount: list.byteCount)
    }
}

/// Compares the length of decoded bytes with that in an index, which may be the index of other bytes.
struct IndexedLength: BlobInspector {
    let index: BlockIndex
    /// The info of the decoded bytes, with the length in the index.
    let info: BlobInfo

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        let end = byteOffset + Int64(bytes.byteCount)
        guard isLast ? end == self.index.byteCount : end <= self.index.byteCount else { throw self.disproved() }
        return 0..<bytes.byteCount
    }

    /// Returns the error. An offset within the length in the index and past the end of the data disproves the index.
    func reported(_ error: BlobError) -> BlobError { error.code == .invalidArgument ? self.disproved() : error }

    private func disproved() -> BlobError {
        self.index.disprove()
        return BlobError(
            .changed, "The index of these blocks has another length than the data, and is no longer used.")
    }
}
