internal import BlobBlocks
import BlobCore
import CArchive

/// A reader that decodes a compressed source in one pass.
final class DecompressingReader: BlobPluginReader {
    private enum Phase {
        case unopened(ArchiveInput)
        case reading(ArchiveHandle)
        /// Zstandard with a window that libarchive refuses.
        case streaming(ZstdStream, ArchiveInput)
        case ended
        case failed(BlobError)
    }

    /// The largest window of Zstandard that libarchive decodes, in bytes.
    private static let maximumLibraryWindowByteCount: UInt64 = 128 << 20

    let info: BlobInfo
    private let format: CompressionFormat
    private let context: BlobContext
    private var phase: Phase
    /// The undelivered bytes in libarchive's buffer, or the undecoded bytes of the input.
    private var block = UnsafeRawBufferPointer(start: nil, count: 0)
    private var decodedByteCount: Int64 = 0
    private let checks: StreamChecks?

    /// - Parameter checks: The checksums that an inspector of the input notes; nil when nobody wants to know.
    init(
        _ input: ArchiveInput, _ format: CompressionFormat, info: BlobInfo, _ context: BlobContext,
        _ checks: StreamChecks?
    ) {
        self.info = info
        (self.context, self.checks) = (context, checks)
        self.format = format
        self.phase = .unopened(input)
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        do {
            try self.readOn(&output)
            return output.byteCount > start ? .bytes : .end
        } catch {
            let error = BlobError(wrapping: error)
            self.leave(for: .failed(error))
            throw error
        }
    }

    func close() { self.leave(for: .failed(BlobError(.closed, "The reader is closed."))) }

    private func leave(for phase: Phase) {
        switch self.phase {
        case .unopened(let input), .streaming(_, let input): input.close()
        case .reading, .ended, .failed: break
        }
        self.block = UnsafeRawBufferPointer(start: nil, count: 0)
        self.phase = phase
    }

    private func readOn(_ output: inout OutputRawSpan) throws(BlobError) {
        if case .unopened(let input) = self.phase, let stream = try self.stream(input) {
            self.phase = .streaming(stream, input)
        }
        if case .streaming(let stream, let input) = self.phase {
            if try !self.decode(stream, input, into: &output) {
                self.leave(for: .ended)
                self.reportEnd()
            }
            return
        }
        while self.block.isEmpty {
            switch self.phase {
            case .streaming: return
            case .ended: return
            case .failed(let error): throw error
            case .unopened(let input):
                guard let handle = try self.open(input) else { return self.leave(for: .ended) }
                self.phase = .reading(handle)
            case .reading(let handle):
                guard let block = try self.nextBlock(handle) else { return self.leave(for: .ended) }
                self.block = block
            }
        }
        let count = output.append(contentsOf: self.block)
        self.block = UnsafeRawBufferPointer(rebasing: self.block.dropFirst(count))
    }

    /// Returns a decoder for Zstandard with a window that libarchive refuses; nil for all else.
    private func stream(_ input: ArchiveInput) throws(BlobError) -> ZstdStream? {
        guard self.format == .zstd,
            let window = self.format.windowByteCount(try input.beginning(CompressionFormat.headerByteCount)),
            window > Self.maximumLibraryWindowByteCount
        else { return nil }
        try self.format.check(windowByteCount: window, self.context)
        return try ZstdStream(self.context)
    }

    /// Appends the next bytes; returns false at the end.
    private func decode(
        _ stream: ZstdStream, _ input: ArchiveInput, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        let start = output.byteCount
        while output.byteCount == start {
            if self.block.isEmpty {
                do { self.block = try input.read() } catch { throw BlobError(wrapping: error) }
            }
            let isAtEnd = self.block.isEmpty
            if isAtEnd, stream.isBetweenFrames { return false }
            try input.checkRatio(ofDecoded: self.decodedByteCount)
            // At the end, the decoder may hold bytes.
            try stream.decode(&self.block, into: &output)
            guard !isAtEnd || output.byteCount > start || stream.isBetweenFrames else {
                throw BlobError(.truncated, "The zstd stream ends too early.", byteOffset: input.givenByteCount)
            }
        }
        self.decodedByteCount += Int64(output.byteCount - start)
        return true
    }

    /// Starts to decode; returns nil when the content is empty.
    private func open(_ input: ArchiveInput) throws(BlobError) -> ArchiveHandle? {
        let label = "\(self.format.rawValue) stream"
        let beginning = try input.beginning(CompressionFormat.headerByteCount)
        guard self.format.begins(beginning) != false else {
            throw BlobError(.corrupted, "This is no \(label): it begins with other bytes.", byteOffset: 0)
        }
        try self.format.check(windowByteCount: self.format.windowByteCount(beginning) ?? 0, self.context)
        let handle = try ArchiveHandle(input, label: label) { archive in
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

    private func nextBlock(_ handle: ArchiveHandle) throws(BlobError) -> UnsafeRawBufferPointer? {
        try handle.input.checkRatio(ofDecoded: self.decodedByteCount)
        var start: UnsafeRawPointer?
        var count = 0
        var byteOffset: Int64 = 0
        let status = try handle.call { blob_archive_read_data_block($0, &start, &count, &byteOffset) }
        if status == ARCHIVE_EOF {
            try self.checkEnd(handle)
            return nil
        }
        self.decodedByteCount += Int64(count)
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    /// Checks that only zeros follow the end, because libarchive stops silently where it finds nothing more to decode.
    private func checkEnd(_ handle: ArchiveHandle, isEmpty: Bool = false) throws(BlobError) {
        let used = handle.ask { blob_archive_filter_bytes($0, -1) }
        var restCount = handle.input.givenByteCount - used
        let probeCount = Int64(self.format.probe.count)
        // libarchive has consumed the whole probe, or has stopped at an unknown signature, which it counts.
        if probeCount > 0, !isEmpty { restCount += restCount == -probeCount ? probeCount : 4 }
        let given = handle.input.lastGiven(restCount)
        var rest = ArchiveInput.Rest()
        given?.withUnsafeBytes { rest.append($0) }
        let more = try handle.input.drain()
        let beginning = rest.beginning + more.beginning
        let byteCount = rest.byteCount + more.byteCount
        // Tapes and disks leave zeros. In an empty lzip, libarchive stops before the trailer.
        let isTrailer =
            self.format == .lzip && isEmpty && byteCount == Self.emptyLzipTrailer.count
            && beginning == Self.emptyLzipTrailer
        guard given != nil, rest.areZeros && more.areZeros || isTrailer else {
            throw BlobError(
                .trailingData, "Something follows the end of the \(self.format.rawValue) stream.",
                byteOffset: min(used, handle.input.givenByteCount))
        }
        self.reportEnd()
    }

    private func reportEnd() {
        self.context.reportEnd(of: self.format.rawValue, byteCount: self.decodedByteCount, check: self.checks?.name)
    }

    /// The trailer of an lzip member without bytes: CRC, length, and the size of such a member, 36 (lzip manual, "File
    /// format").
    private static let emptyLzipTrailer: [UInt8] = Array(repeating: 0, count: 12) + [36, 0, 0, 0, 0, 0, 0, 0]
}
