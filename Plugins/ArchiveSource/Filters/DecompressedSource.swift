internal import BlobBlocks
public import BlobCore

/// The decompressed bytes of another source, in a format that libarchive decodes.
///
/// Consecutive streams or frames are all decoded (for LZMA, only one), and every checksum of the format is checked
/// before the end. Data after the last one throws ``BlobError/Code/trailingData``, except for zeros, which tapes and
/// disks leave. ``CompressionFormat`` documents which formats have no checksum: in these, damage can look like data.
///
/// The blocks of xz and the frames of Zstandard are decoded on several threads, and an offset is reached by its block,
/// when the base is repeatable and has random access and a length, and the library of the format can be loaded; see
/// ``BlobInfo/isRandomAccess``. From the index of an xz and the table of seekable Zstandard data, the length is known,
/// too. Everything else is decoded from the beginning, in one pass.
///
/// Takes the memory of the format's window, and with several threads at most 128 MiB more. A stream, block or frame that
/// asks for more than 128 MiB throws ``BlobError/Code/limitExceeded`` before the memory is allocated.
public struct DecompressedSource: BlobLayer {
    /// The source of the compressed bytes.
    public var underlying: any BlobInputStreamDataSource { self.base }

    private let base: any BlobInputStreamDataSource
    private let format: CompressionFormat
    private let blocks: BlockAccess

    /// Creates a source without reading anything.
    public init(_ base: any BlobInputStreamDataSource, format: CompressionFormat) {
        self.base = base
        self.format = format
        self.blocks = BlockAccess(scheme: format.rawValue)
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
        let base = try self.base.info(context)
        return self.info(of: base, try BlockBase(self.base, base, context).flatMap { try self.blocks.table($0) })
    }

    /// Opens a reader at `byteOffset`: in its block, or at the beginning.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        // A base that is not repeatable must not be asked before it is opened.
        guard self.base.traits.contains(.repeatable),
            let base = BlockBase(self.base, try self.base.info(context), context)
        else { return try self.sequentialReader(at: byteOffset, matching: validator, context) { _ in nil } }
        let table = try self.blocks.table(base)
        let info = self.info(of: base.info, table)
        try info.check(byteOffset: byteOffset, matching: validator)
        let judge: @Sendable (Int64) throws -> any BlobReader = {
            try self.sequentialReader(at: $0, matching: info.validator, context) { $0 == info.validator ? table : nil }
        }
        return try self.blocks.reader(base, at: byteOffset, info: info, judge: judge) ?? judge(byteOffset)
    }

    /// Opens a decoder at the beginning of the base, and skips to `byteOffset`.
    ///
    /// - Parameter table: Returns the table of the blocks of the decoded bytes with a validator.
    private func sequentialReader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext,
        _ table: (BlobValidator?) -> BlockTable?
    ) throws -> any BlobReader {
        let base = self.format.inspector.map { InspectedSource(base: self.base, inspector: $0) } ?? self.base
        let input = try ArchiveInput(base, context, suffix: self.format.probe)
        var info = self.info(of: input.info, nil)
        info = self.info(of: input.info, table(info.validator))
        do {
            try info.check(byteOffset: byteOffset, matching: validator)
        } catch {
            input.close()
            throw error
        }
        let reader = DecompressingReader(input, self.format, info: info)
        return reader.skipping(byteOffset)
    }

    private func info(of base: BlobInfo, _ table: BlockTable?) -> BlobInfo {
        BlobInfo(
            byteCount: table?.byteCount, name: base.name.map(self.format.nameOfContent),
            validator: base.validator.map { .combined(self.format.rawValue, [$0]) },
            isRandomAccess: table?.isRandomAccess ?? false)
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
