internal import BlobBlocks
public import BlobCore
package import BlobIndex
import CArchive

/// The decompressed bytes of another source, in a format that libarchive decodes.
///
/// All consecutive streams or frames are decoded (for LZMA, only one), and every checksum of the format is checked
/// before the end. Data after the last stream throws ``BlobError/Code/trailingData``, except for zeros, as left by
/// tapes and disks. ``CompressionFormat`` documents which formats have no checksum; in these formats, damage may go
/// undetected.
///
/// The blocks of xz and the frames of Zstandard are decoded on several threads, and decoding can begin at the block of
/// an offset, if the base is repeatable and has random access and a length, and the library of the format can be
/// loaded; see ``BlobInfo/isRandomAccess``. The index in an xz and the table in seekable Zstandard data also contain
/// the length. For bzip2 and other Zstandard data, an index file provides the blocks and the length. Everything else is
/// decoded from the beginning, in one pass.
///
/// Decoding uses the memory of the format's window, and with several threads at most 128 MiB more. A stream, block or
/// frame that needs more than ``BlobContext/memoryLimit`` throws ``BlobError/Code/limitExceeded`` before the memory is
/// allocated.
public struct DecompressedSource: BlobLayer {
    /// The source of the compressed bytes.
    public var underlying: any BlobInputStreamDataSource { self.base }

    let base: any BlobInputStreamDataSource
    let blocks: BlockAccess
    let holder: IndexCache<BlockIndex>
    private let format: CompressionFormat

    /// The minimum number of compressed bytes for which an index is worth its space: 1 MiB, about 150 milliseconds of
    /// decoding.
    private static let worthwhileByteCount: Int64 = 1 << 20

    /// Creates a source without reading anything, and without an index.
    public init(_ base: any BlobInputStreamDataSource, format: CompressionFormat) {
        self.init(base, format: format, index: .none)
    }

    /// - Parameter index: The policy for the index of the blocks.
    package init(_ base: any BlobInputStreamDataSource, format: CompressionFormat, index: BlobIndexPolicy) {
        self.base = base
        self.format = format
        self.blocks = BlockAccess(scheme: format.rawValue)
        self.holder = IndexCache(
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

    /// Returns the name of the base without its extension, a validator derived from the base's validator, and the
    /// length if the data has an index.
    public func describe(_ context: BlobContext) throws -> BlobInfo {
        let context = context.blocking  // Decoders block, regardless of the reader.
        let base = try self.base.info(context)
        return self.info(of: base, try BlockBase(self.base, base, context).flatMap { try self.list($0, context) })
    }

    /// Prepares the base for the compressed blocks that contain the ranges, if the data or an index lists the blocks.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {
        guard self.base.traits.contains(.preparable), let points = try? self.restartPoints(context) else { return }
        self.base.prepare(ranges.compactMap(points.compressedRange), context)
    }

    /// Returns the bytes starting at the block that contains the offset, or at the beginning.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let (byteOffset, context) = (opening.byteOffset, opening.context.blocking)
        // A base that is not repeatable must not be queried before it is opened.
        guard self.base.traits.contains(.repeatable),
            let base = BlockBase(self.base, try self.base.info(context), context)
        else { return try self.decodedInOrder(nil, context) }
        let list = try self.list(base, context)
        let info = self.info(of: base.info, list)
        try info.check(byteOffset: byteOffset, matching: opening.validator)
        let place = byteOffset == 0 ? try self.holder.indexDestination(isRequired: false, context) : nil
        let recording = place.map { self.recording(of: base, at: $0) }
        let body = try self.decodedBlocks(base, at: byteOffset, list, recording, context)
        guard let index = list as? BlockIndex else { return body }
        let decoded = try BlobReader(body, BlobOpening(at: byteOffset, context: context))
        return .inspected(decoded, IndexedLength(index: index, info: info), startingAt: byteOffset)
    }

    /// Returns a body that decodes block by block, or with one decoder.
    ///
    /// Its info omits the length from an index, which may be wrong.
    ///
    /// A read from the beginning does not depend on an index.
    func decodedBlocks(
        _ base: BlockBase, at byteOffset: Int64, _ list: (any BlockList)?, _ recording: BlockRecording?,
        _ context: BlobContext
    ) throws -> BlobBody {
        let info = self.info(of: base.info, list is BlockIndex ? nil : list)
        let index = byteOffset > 0 ? list as? BlockIndex : nil
        let blocks = try self.blocks.body(base, at: byteOffset, info: info, index: index, recording: recording) { _ in
            if index != nil { self.holder.reportRefusal() }
            return try self.decodedInOrder(info, context)
        }
        return try blocks ?? self.decodedInOrder(info, context)
    }

    /// Returns the blocks listed by the data or by an index; nil if neither lists the blocks.
    func list(_ base: BlockBase, _ context: BlobContext) throws -> (any BlockList)? {
        if let table = try self.blocks.table(base) { return table }
        return try self.holder.index(of: base.info, context)
    }

    /// Returns the bytes that one decoder produces from the beginning of the base.
    ///
    /// - Parameter known: The info of the bytes; nil if unknown before the base is opened.
    private func decodedInOrder(_ known: BlobInfo?, _ context: BlobContext) throws -> BlobBody {
        let checks = context.isObserved ? StreamChecks() : nil
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
    /// Returns one fact: whether a checksum protects the bytes. Without a checksum, damage may go undetected.
    ///
    /// The result is empty if the base can be read only once, or the first header does not declare whether there is a
    /// checksum.
    public func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)] {
        guard self.base.traits.contains(.repeatable) else { return [] }
        let input = try ArchiveInput(self.base, context)
        defer { input.close() }
        let beginning = try input.beginning(CompressionFormat.headerByteCount)
        return self.format.hasChecksum(beginning).map { [("has checksum", $0)] } ?? []
    }
}

extension DecompressedSource: BlobIndexing {
    /// Builds an index of the blocks of bzip2 or Zstandard data that does not list them, unless an index exists.
    ///
    /// Decodes everything once. Returns false for data with a single block, for data that lists its blocks, for other
    /// formats, and if the index policy provides no file for the index.
    public func buildIndex(_ context: BlobContext) throws -> Bool {
        guard let info = try self.unlistedInfo(context) else { return false }
        if try self.holder.index(of: info, context) != nil { return true }
        guard let place = try self.holder.indexDestination(isRequired: true, context) else { return false }
        try self.record(context) { base in self.recording(of: base, at: place) }
        return try self.holder.index(of: info, context) != nil
    }

    /// Returns a recording that writes an index.
    func recording(of base: BlockBase, at place: IndexDestination) -> BlockRecording {
        BlockRecording(of: base) { index in
            // The index is found by the identity of the whole content, so it must cover the whole content.
            guard index.points.compressedByteCount == place.content.byteCount else { return }
            try place.write { () throws(BlobError) in index.sections(layer: place.layer) }
        }
    }

    /// Returns the info of the base; nil unless an index of its blocks would be useful.
    private func unlistedInfo(_ context: BlobContext) throws -> BlobInfo? {
        guard self.blocks.isIndexable, self.base.traits.contains(.repeatable) else { return nil }
        let info = try self.base.info(context)
        guard let base = BlockBase(self.base, info, context), try self.blocks.table(base) == nil else { return nil }
        return info
    }

    /// Decodes everything from the beginning, without an index, and reports the bytes read from the base.
    private func record(_ context: BlobContext, _ makeRecording: (BlockBase) -> BlockRecording) throws {
        let counted = self.base.counting { _, _, _ in }
        guard let base = BlockBase(counted, try self.base.info(context), context) else { return }
        let body = try self.decodedBlocks(base, at: 0, nil, makeRecording(base), context)
        let reader = try BlobReader(body, BlobOpening(context: context))
        defer { reader.close() }
        try reader.forEachPiece { _ in }
    }
}

extension DecompressedSource: IndexVerifying {
    package func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        guard let info = try self.unlistedInfo(context), let index = try self.holder.index(of: info, context) else {
            return nil
        }
        let found = Locked<BlockIndex?>(nil)
        try self.record(context) { base in BlockRecording(of: base) { index in found.withLock { $0 = index } } }
        guard let current = found.withLock({ $0 }) else {
            try report("The data does not consist of several blocks that can be decoded independently.")
            return index.points.count
        }
        return try index.compare(with: current, report: report)
    }
}

extension DecompressedSource: RestartPointListing {
    /// Returns the starts of the blocks listed by the data or by an index; nil if neither lists the blocks.
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

/// Compares the length of the decoded bytes with the length in an index, which may belong to other bytes.
struct IndexedLength: BlobInspector {
    let index: BlockIndex
    /// The info of the decoded bytes, with the length in the index.
    let info: BlobInfo

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        let end = byteOffset + Int64(bytes.byteCount)
        guard isLast ? end == self.index.byteCount : end <= self.index.byteCount else { throw self.invalidateIndex() }
        return 0..<bytes.byteCount
    }

    /// Returns the error to report. An offset that is within the length in the index but past the end of the data
    /// proves the index wrong.
    func reportedError(_ error: BlobError) -> BlobError {
        error.code == .invalidArgument ? self.invalidateIndex() : error
    }

    private func invalidateIndex() -> BlobError {
        self.index.invalidate()
        return BlobError(
            .changed, "The index of the blocks does not match the length of the data, and is no longer used.")
    }
}

/// The bytes that one decoder produces from a compressed source, from the beginning.
final class DecompressingStream: BlobByteStream {
    private enum Decoder {
        case library(ArchiveHandle)
        /// The decoder for Zstandard with a window that libarchive rejects.
        case zstd(ZstdStream)
    }

    /// The largest window of Zstandard that libarchive decodes, in bytes.
    private static let maximumLibraryWindowByteCount: UInt64 = 128 << 20

    let info: BlobInfo?
    private let input: ArchiveInput
    private let format: CompressionFormat
    private let context: BlobContext
    private let checks: StreamChecks?
    /// The decoder; nil before the first read.
    private var decoder: Decoder?
    /// The bytes in libarchive's buffer that were not delivered yet, or the input bytes that were not decoded yet.
    private var block = UnsafeRawBufferPointer(start: nil, count: 0)

    /// - Parameter checks: The receiver of the checksums that an inspector of the input finds; nil to ignore them.
    init(
        _ input: ArchiveInput, _ format: CompressionFormat, info: BlobInfo, _ context: BlobContext,
        _ checks: StreamChecks?
    ) {
        (self.input, self.format, self.info) = (input, format, info)
        (self.context, self.checks) = (context, checks)
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.decoder == nil { self.decoder = try self.start() }
        let hasBytes =
            switch self.decoder {
            case .library(let handle): try self.copy(from: handle, at: byteOffset, into: &output)
            case .zstd(let stream): try self.decode(stream, at: byteOffset, into: &output)
            case nil: false
            }
        if hasBytes { return .bytes }
        self.context.reportEnd(of: self.format.rawValue, byteCount: byteOffset, check: self.checks?.name)
        self.close()
        return .end
    }

    func close() {
        self.decoder = nil
        self.input.close()
    }

    /// Starts decoding; returns nil if the content is empty.
    private func start() throws(BlobError) -> Decoder? {
        if let stream = try self.zstdStream() { return .zstd(stream) }
        return try self.handle().map { .library($0) }
    }

    /// Returns a decoder for Zstandard with a window that libarchive rejects; nil for other data.
    private func zstdStream() throws(BlobError) -> ZstdStream? {
        guard self.format == .zstd,
            let window = self.format.windowByteCount(try self.input.beginning(CompressionFormat.headerByteCount)),
            window > Self.maximumLibraryWindowByteCount
        else { return nil }
        try self.format.check(windowByteCount: window, self.context)
        return try ZstdStream(self.context)
    }

    /// Appends the next bytes; returns false at the end.
    private func decode(
        _ stream: ZstdStream, at byteOffset: Int64, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        let start = output.byteCount
        while output.byteCount == start {
            if self.block.isEmpty {
                do { self.block = try self.input.read() } catch { throw BlobError(wrapping: error) }
            }
            let isAtEnd = self.block.isEmpty
            if isAtEnd, stream.isBetweenFrames { return false }
            try self.input.checkRatio(ofDecoded: byteOffset)
            // At the end, the decoder may still buffer bytes.
            try stream.decode(&self.block, into: &output)
            guard !isAtEnd || output.byteCount > start || stream.isBetweenFrames else {
                throw BlobError(.truncated, "The zstd stream ends too early.", byteOffset: self.input.suppliedByteCount)
            }
        }
        return true
    }

    /// Returns the decoder of libarchive; nil if the content is empty.
    private func handle() throws(BlobError) -> ArchiveHandle? {
        let label = "\(self.format.rawValue) stream"
        let beginning = try self.input.beginning(CompressionFormat.headerByteCount)
        guard self.format.matches(beginning) != false else {
            throw BlobError(.corrupted, "Not a valid \(label): the signature at its start is missing.", byteOffset: 0)
        }
        try self.format.check(windowByteCount: self.format.windowByteCount(beginning) ?? 0, self.context)
        let handle = try ArchiveHandle(self.input, label: label) { archive in
            // The raw format passes on any content; the empty format matches content without bytes.
            [
                blob_archive_read_support_format_raw(archive), blob_archive_read_support_format_empty(archive),
                self.format.enable(archive),
            ].min() ?? ARCHIVE_FATAL
        }
        // Content also looks empty if the decoder failed immediately.
        if handle.message != nil { throw handle.error }
        guard handle.ask({ blob_archive_filter_count($0) }) == 2 else {
            throw BlobError(
                .unsupported, "Not a valid \(label), or it contains another stream, which is not supported.",
                byteOffset: 0)
        }
        var entry: OpaquePointer?
        guard try handle.call({ blob_archive_read_next_header($0, &entry) }) == ARCHIVE_OK else {
            try self.checkEnd(handle, isEmpty: true)
            return nil
        }
        return handle
    }

    /// Appends the next bytes; returns false at the end.
    private func copy(
        from handle: ArchiveHandle, at byteOffset: Int64, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        while self.block.isEmpty {
            try self.input.checkRatio(ofDecoded: byteOffset)
            guard let block = try handle.nextBlock() else {
                try self.checkEnd(handle)
                return false
            }
            self.block = block.bytes
        }
        let count = output.append(contentsOf: self.block)
        self.block = UnsafeRawBufferPointer(rebasing: self.block.dropFirst(count))
        return true
    }

    /// Checks that only zeros follow the end, because libarchive stops silently when it finds nothing more to decode.
    private func checkEnd(_ handle: ArchiveHandle, isEmpty: Bool = false) throws(BlobError) {
        let used = handle.ask { blob_archive_filter_bytes($0, -1) }
        var restCount = self.input.suppliedByteCount - used
        let probeCount = Int64(self.format.probe.count)
        // libarchive has consumed the whole probe, or has stopped at an unknown signature, which it counts as consumed.
        if probeCount > 0, !isEmpty { restCount += restCount == -probeCount ? probeCount : 4 }
        let given = self.input.lastSuppliedBytes(restCount)
        var rest = ArchiveInput.TrailingBytes()
        given?.withUnsafeBytes { rest.append($0) }
        let more = try self.input.drain()
        let beginning = rest.beginning + more.beginning
        let byteCount = rest.byteCount + more.byteCount
        // Zeros are left by tapes and disks. In an empty lzip, libarchive stops before the trailer.
        let isTrailer =
            self.format == .lzip && isEmpty && byteCount == Self.emptyLzipTrailer.count
            && beginning == Self.emptyLzipTrailer
        guard given != nil, rest.areZeros && more.areZeros || isTrailer else {
            throw BlobError(
                .trailingData, "Unexpected data after the end of the \(self.format.rawValue) stream.",
                byteOffset: min(used, self.input.suppliedByteCount))
        }
    }

    /// The trailer of an empty lzip member: CRC, length, and the size of the member, 36 (lzip manual, "File format").
    private static let emptyLzipTrailer: [UInt8] = Array(repeating: 0, count: 12) + [36, 0, 0, 0, 0, 0, 0, 0]
}
