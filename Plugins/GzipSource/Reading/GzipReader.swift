import BlobCore
import BlobDeflate

/// A reader that decodes the compressed bytes of another reader in one pass.
///
/// Blocked gzip is decoded by several threads; see ``BlockPipeline``.
final class GzipReader: BlobPluginReader {
    private enum Phase {
        /// Nothing was read yet.
        case opened
        case decoding(DecodingPass)
        case decodingBlocks(BlockPipeline)
        case ended
        case failed(any Error)
    }

    private let base: BlobReader
    private let waits: Bool
    private let format: GzipSource.Format
    private let library: InflateLibrary
    private let start: RestartPoint
    private let locator: BlobLocator?
    private let context: BlobContext
    private let found: ([MemberStart]) -> Void
    private let decodedInfo: (BlobInfo) -> BlobInfo
    private var recording: IndexRecording?
    private var phase = Phase.opened
    /// Decoded bytes to deliver before further ones.
    private var held: SliceBuffer?
    /// The number of bytes delivered.
    private var decodedByteCount: Int64 = 0

    /// - Parameters:
    ///   - base: A reader at the byte of `start`, which this reader takes over.
    ///   - waits: True to wait while the base has no bytes for now.
    ///   - start: A position before a header.
    ///   - locator: The locator of the compressed bytes, for errors.
    ///   - recording: Makes an index during the read; nil for none.
    ///   - found: Called with positions between members at which decoding can begin.
    ///   - info: Returns the info of the decoded bytes for that of the base, which may become known late.
    init(
        _ base: BlobReader, waits: Bool, _ format: GzipSource.Format, library: InflateLibrary,
        at start: RestartPoint, locator: BlobLocator?, recording: IndexRecording?, context: BlobContext,
        found: @escaping ([MemberStart]) -> Void = { _ in }, info: @escaping (BlobInfo) -> BlobInfo
    ) {
        self.base = base
        self.waits = waits
        self.format = format
        self.library = library
        self.start = start
        self.locator = locator
        self.recording = recording
        self.context = context
        self.found = found
        self.decodedInfo = info
    }

    var info: BlobInfo { self.decodedInfo(self.base.info) }
    // After an error, a read throws it.
    var isOpen: Bool { self.base.isOpen || self.base.hasFailed }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        defer { self.decodedByteCount += Int64(output.byteCount - start) }
        do {
            try self.context.checkRatio(ofDecoded: self.decodedByteCount, to: self.compressedByteCount)
            return try self.decode(into: &output)
        } catch {
            self.phase = .failed(error)
            // The bytes before the error are good and come first; the next read throws.
            if output.byteCount == start { throw error }
            return .bytes
        }
    }

    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }

    func close() {
        if case .decodingBlocks(let pipeline) = self.phase { pipeline.close() }
        self.phase = .failed(BlobError(.closed, "The reader is closed."))
        self.base.close()
        self.recording = nil
    }

    /// The number of compressed bytes that were decoded; at least that of the bytes delivered.
    private var compressedByteCount: Int64 {
        let start = self.start.bitOffset / 8
        return switch self.phase {
        case .decoding(let pass): pass.compressedByteOffset - start
        case .decodingBlocks(let pipeline): pipeline.end.bitOffset / 8 - start
        case .opened, .ended, .failed: .max
        }
    }

    private func decode(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if case .opened = self.phase { self.phase = try self.begin() }
        switch self.phase {
        case .opened, .ended: return .end
        case .failed(let error): throw error
        case .decoding(let pass):
            if let held, !held.isEmpty {
                held.move(to: &output)
                return .bytes
            }
            self.held = nil
            let result = try pass.decode(into: &output)
            if result == .end { try self.end(compressedByteCount: pass.compressedByteOffset) }
            return result
        case .decodingBlocks(let pipeline):
            let result = try pipeline.read(into: &output)
            guard result == .end else { return result }
            // Continues after the last block, where there may be only the end.
            let pass = try self.makePass(at: pipeline.end, beginning: pipeline.rest)
            self.phase = .decoding(pass)
            if pipeline.hasFailed { self.held = try self.decodeSequentially(pass) }
            return try self.decode(into: &output)
        }
    }

    /// Decodes as many bytes as a batch has, so that none of them is delivered if more than the headers is damaged.
    private func decodeSequentially(_ pass: DecodingPass) throws -> SliceBuffer {
        let buffer = SliceBuffer(byteCount: BlockPipeline.bufferByteCount)
        try buffer.fill { output in
            while output.freeCapacity > 0, try pass.decode(into: &output) == .bytes {}
        }
        return buffer
    }

    /// Chooses between one pass and a pipeline by the first bytes, as far as they are available.
    private func begin() throws -> Phase {
        guard self.format == .gzip, self.recording?.isRequired != true else {
            return .decoding(try self.makePass(at: self.start))
        }
        let beginning = try self.beginning(BlockHeader.usualByteCount)
        guard let header = BlockHeader(beginning), header.byteCount > 0 else {
            return .decoding(try self.makePass(at: self.start, beginning: beginning))
        }
        return .decodingBlocks(
            BlockPipeline(
                self.base, waits: self.waits, beginning: beginning, at: self.start, library: self.library,
                recorder: self.recording?.recorder, self.context, found: self.found))
    }

    /// Reads the next bytes, at most `count`; fewer at the end, or when there are no more for now.
    private func beginning(_ count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { bytes, initializedCount in
            let buffer = UnsafeMutableRawBufferPointer(bytes)
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            while output.freeCapacity > 0, try self.base.read(into: &output, waits: self.waits) == .bytes {}
            initializedCount = output.finalize(for: buffer)
        }
    }

    private func makePass(at point: RestartPoint, beginning: [UInt8] = []) throws -> DecodingPass {
        DecodingPass(
            self.base, waits: self.waits, try self.makeDecoder(at: point), locator: self.locator, beginning: beginning)
    }

    private func makeDecoder(at point: RestartPoint) throws(BlobError) -> FrameDecoder {
        var decoder = try FrameDecoder(self.format, library: self.library, recorder: self.recording?.recorder)
        if point.bitOffset > 0 {
            decoder.resume(at: point, firstByte: 0, window: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return decoder
    }

    private func end(compressedByteCount: Int64) throws {
        try self.recording?.finish(compressedByteCount: compressedByteCount)
        self.recording = nil
        self.phase = .ended
        self.context.reportEnd(
            of: self.format.rawValue, byteCount: self.decodedByteCount, check: self.format.checksumName)
    }
}

extension BlobReader {
    /// Reads the next `count` bytes; fewer only at the end. Waits for them.
    func bytes(atMost count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            while bytes.count < count {
                let read = try self.readWaiting(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<(count - bytes.count)]))
                guard read > 0 else { break }
                bytes += buffer[..<read]
            }
        }
        return bytes
    }
}
