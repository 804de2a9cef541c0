public import BlobCore

/// The decompressed bytes of another source, in a format that libarchive decodes.
///
/// Consecutive streams or frames are all decoded (for LZMA, only one), and every checksum of the format is checked
/// before the end. Data after the last one throws ``BlobError/Code/trailingData``, except for zeros, which tapes and
/// disks leave. The length is unknown before the end; any offset is reached by decoding from the beginning.
/// ``CompressionFormat`` documents which formats have no checksum: in these, damage can look like data.
///
/// Takes the memory of the format's window. A stream, block or frame that asks for more than 128 MiB throws
/// ``BlobError/Code/limitExceeded`` before the memory is allocated.
public struct DecompressedSource: BlobLayer {
    /// The source of the compressed bytes.
    public var underlying: any BlobInputStreamDataSource { self.base }

    private let base: any BlobInputStreamDataSource
    private let format: CompressionFormat

    /// Creates a source without reading anything.
    public init(_ base: any BlobInputStreamDataSource, format: CompressionFormat) {
        self.base = base
        self.format = format
    }

    /// The traits of the base, except ``BlobTraits/neverBlocks``.
    public var traits: BlobTraits {
        self.base.traits.subtracting(.neverBlocks)
    }

    /// The locator of the base, wrapped in the scheme of the format.
    public var locator: BlobLocator? { try? self.base.locator?.wrapped(in: self.format.rawValue) }

    /// Returns the name of the base without its extension, and a validator made from the base's.
    public func describe(_ context: BlobContext) throws -> BlobInfo { self.info(of: try self.base.info(context)) }

    /// Opens a decoder at the beginning of the base, and skips to `byteOffset`.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let base = self.format.inspector.map { InspectedSource(base: self.base, inspector: $0) } ?? self.base
        let input = try ArchiveInput(base, context, suffix: self.format.probe)
        let info = self.info(of: input.info)
        do {
            try info.check(byteOffset: byteOffset, matching: validator)
        } catch {
            input.close()
            throw error
        }
        let reader = DecompressingReader(input, self.format, info: info)
        return reader.skipping(byteOffset)
    }

    private func info(of base: BlobInfo) -> BlobInfo {
        BlobInfo(
            name: base.name.map(self.format.nameOfContent),
            validator: base.validator.map { .combined(self.format.rawValue, [$0]) })
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
