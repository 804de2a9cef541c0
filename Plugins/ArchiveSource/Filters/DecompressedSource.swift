internal import BlobBlocks
public import BlobCore
internal import BlobIndex

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

extension CompressionFormat {
    /// Returns the name of the content of a file with this name: `a.tar` for `a.tar.xz` and `a.txz`.
    func nameOfContent(_ name: String) -> String {
        let lowercased = name.lowercased()
        for (suffix, replacement) in self.fileExtensions where lowercased.hasSuffix(".\(suffix)") {
            return name.dropLast(suffix.count + 1) + replacement
        }
        return name
    }
}
