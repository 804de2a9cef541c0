import BlobStreams

/// The decompressed bytes of another source, in a format that libarchive decodes.
///
/// All streams or frames that follow one another are decoded (of LZMA only one is taken), and every checksum that the
/// format has is checked before the end. What follows the last one is ``BlobError/Code/trailingData``, zeros excepted,
/// which tapes and disks leave. The length is not known before the end; any offset is reached by decoding from the
/// beginning. ``CompressionFormat`` says which formats have no checksum: there, damage can look like data.
///
/// Memory is what the format's window takes. A stream, block or frame that asks for more than 128 MiB is
/// ``BlobError/Code/limitExceeded``, before any memory is taken for it.
public struct DecompressedSource: BlobLayer {
    /// The source of the compressed bytes.
    public var underlying: any BlobInputStreamDataSource { self.base }

    private let base: any BlobInputStreamDataSource
    private let format: CompressionFormat

    /// Creates a source; nothing is read yet.
    public init(_ base: any BlobInputStreamDataSource, format: CompressionFormat) {
        self.base = base
        self.format = format
    }

    /// Those of the base, without random access.
    public var capabilities: BlobCapabilities {
        self.base.capabilities.intersection([.repeatable, .concurrentReaders])
    }

    /// The locator of the base, wrapped.
    public var locator: BlobLocator? { try? self.base.locator?.wrapped(in: self.format.rawValue) }

    /// The name without its extension, and a validator made from that of the base.
    public func info(_ context: BlobContext) throws -> BlobInfo { self.info(of: try self.base.checkedInfo(context)) }

    /// Opens a decoder at the beginning of the base.
    public func openReader(
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
        return byteOffset == 0 ? reader : SkippingReader(reader, bytesToSkip: byteOffset)
    }

    private func info(of base: BlobInfo) -> BlobInfo {
        BlobInfo(
            name: base.name.map(self.format.nameOfContent),
            validator: base.validator.map { .combined(self.format.rawValue, [$0]) })
    }
}

extension DecompressedSource: BlobDescribing {
    /// Whether a checksum vouches for the bytes: without one, damage can look like data.
    public func facts(_ context: BlobContext) throws -> [BlobFact] {
        guard self.base.capabilities.contains(.repeatable) else { return [] }
        let input = try ArchiveInput(self.base, context)
        defer { input.close() }
        let beginning = try input.beginning(CompressionFormat.headerByteCount)
        return self.format.hasChecksum(beginning).map { [BlobFact("has checksum", .bool($0))] } ?? []
    }
}

extension CompressionFormat {
    /// The name of what is in a file with this name: `a.tar` for `a.tar.xz` and `a.txz`.
    func nameOfContent(_ name: String) -> String {
        let lowercased = name.lowercased()
        for (suffix, replacement) in self.fileExtensions where lowercased.hasSuffix(".\(suffix)") {
            return name.dropLast(suffix.count + 1) + replacement
        }
        return name
    }
}
