internal import BlobBlocks
import BlobCore
import CArchive

/// The bytes that one decoder makes of a compressed source, from the beginning.
final class DecompressingStream: BlobByteStream {
    private enum Decoder {
        case library(ArchiveHandle)
        /// For Zstandard with a window that libarchive refuses.
        case zstd(ZstdStream)
    }

    /// The largest window of Zstandard that libarchive decodes, in bytes.
    private static let maximumLibraryWindowByteCount: UInt64 = 128 << 20

    let info: BlobInfo?
    private let input: ArchiveInput
    private let format: CompressionFormat
    private let context: BlobContext
    private let checks: StreamChecks?
    /// Nil before the first read.
    private var decoder: Decoder?
    /// The undelivered bytes in libarchive's buffer, or the undecoded bytes of the input.
    private var block = UnsafeRawBufferPointer(start: nil, count: 0)

    /// - Parameter checks: The checksums that an inspector of the input notes; nil when nobody wants to know.
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

    /// Starts to decode; returns nil when the content is empty.
    private func start() throws(BlobError) -> Decoder? {
        if let stream = try self.zstdStream() { return .zstd(stream) }
        return try self.handle().map { .library($0) }
    }

    /// Returns a decoder for Zstandard with a window that libarchive refuses; nil for all else.
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
            // At the end, the decoder may hold bytes.
            try stream.decode(&self.block, into: &output)
            guard !isAtEnd || output.byteCount > start || stream.isBetweenFrames else {
                throw BlobError(.truncated, "The zstd stream ends too early.", byteOffset: self.input.givenByteCount)
            }
        }
        return true
    }

    /// Returns the decoder of libarchive; nil when the content is empty.
    private func handle() throws(BlobError) -> ArchiveHandle? {
        let label = "\(self.format.rawValue) stream"
        let beginning = try self.input.beginning(CompressionFormat.headerByteCount)
        guard self.format.begins(beginning) != false else {
            throw BlobError(.corrupted, "This is no \(label): it begins with other bytes.", byteOffset: 0)
        }
        try self.format.check(windowByteCount: self.format.windowByteCount(beginning) ?? 0, self.context)
        let handle = try ArchiveHandle(self.input, label: label) { archive in
            // The raw format passes on any content; the empty format stands for content without bytes.
            [
                blob_archive_read_support_format_raw(archive), blob_archive_read_support_format_empty(archive),
                self.format.enable(archive),
            ].min() ?? ARCHIVE_FATAL
        }
        // A decoder that failed at once also looks empty.
        if handle.message != nil { throw handle.error }
        guard handle.ask({ blob_archive_filter_count($0) }) == 2 else {
            throw BlobError(
                .unsupported, "This is either no \(label), or one within another, which cannot be read.", byteOffset: 0)
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

    /// Checks that only zeros follow the end, because libarchive stops silently where it finds nothing more to decode.
    private func checkEnd(_ handle: ArchiveHandle, isEmpty: Bool = false) throws(BlobError) {
        let used = handle.ask { blob_archive_filter_bytes($0, -1) }
        var restCount = self.input.givenByteCount - used
        let probeCount = Int64(self.format.probe.count)
        // libarchive has consumed the whole probe, or has stopped at an unknown signature, which it counts.
        if probeCount > 0, !isEmpty { restCount += restCount == -probeCount ? probeCount : 4 }
        let given = self.input.lastGiven(restCount)
        var rest = ArchiveInput.Rest()
        given?.withUnsafeBytes { rest.append($0) }
        let more = try self.input.drain()
        let beginning = rest.beginning + more.beginning
        let byteCount = rest.byteCount + more.byteCount
        // Tapes and disks leave zeros. In an empty lzip, libarchive stops before the trailer.
        let isTrailer =
            self.format == .lzip && isEmpty && byteCount == Self.emptyLzipTrailer.count
            && beginning == Self.emptyLzipTrailer
        guard given != nil, rest.areZeros && more.areZeros || isTrailer else {
            throw BlobError(
                .trailingData, "Something follows the end of the \(self.format.rawValue) stream.",
                byteOffset: min(used, self.input.givenByteCount))
        }
    }

    /// The trailer of an lzip member without bytes: CRC, length, and the size of such a member, 36 (lzip manual, "File
    /// format").
    private static let emptyLzipTrailer: [UInt8] = Array(repeating: 0, count: 12) + [36, 0, 0, 0, 0, 0, 0, 0]
}
