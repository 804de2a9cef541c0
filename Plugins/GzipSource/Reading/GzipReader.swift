import BlobInflate
import BlobStreams
import Foundation

/// One pass of decoding over a reader of the compressed bytes.
///
/// Blocked gzip is decoded by several threads; see ``BlockPipeline``.
final class GzipReader: BlobReader {
    private enum Phase {
        /// Nothing was read yet.
        case opened
        case decoding(DecodingPass)
        case decodingBlocks(BlockPipeline)
        case ended
        case failed(any Error)
    }

    private let base: BlobGuardedReader
    private let format: GzipSource.Format
    private let library: InflateLibrary
    private let start: RestartPoint
    private let locator: BlobLocator?
    private let context: BlobContext
    private let found: (RestartPoint) -> Void
    private let decodedInfo: (BlobInfo) -> BlobInfo
    private let derived: DerivedReadiness?
    private var recording: IndexRecording?
    private var phase = Phase.opened
    /// Decoded, and to be delivered before more is.
    private var held: SliceBuffer?

    /// - Parameters:
    ///   - base: At the byte of `start`; this reader owns it now.
    ///   - start: In front of a header.
    ///   - locator: What the offsets of errors are offsets in.
    ///   - recording: Makes an index on the way.
    ///   - found: Told of the places between members where decoding can begin, as far as they are met.
    ///   - info: Makes the info of the decoded bytes from that of the base, which may become known late.
    init(
        _ base: BlobGuardedReader, _ format: GzipSource.Format, library: InflateLibrary, at start: RestartPoint,
        locator: BlobLocator?, recording: IndexRecording?, context: BlobContext,
        found: @escaping (RestartPoint) -> Void = { _ in }, info: @escaping (BlobInfo) -> BlobInfo
    ) {
        self.base = base
        self.format = format
        self.library = library
        self.start = start
        self.locator = locator
        self.recording = recording
        self.context = context
        self.found = found
        self.decodedInfo = info
        self.derived = DerivedReadiness(following: base)
    }

    var info: BlobInfo { self.decodedInfo(self.base.info) }
    var readiness: BlobObservable<BlobReaderState>? { self.derived?.state }
    func property(forKey key: Stream.PropertyKey) -> Any? { self.base.property(forKey: key) }
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool {
        self.base.setProperty(value, forKey: key)
    }

    func read(into output: inout OutputRawSpan) throws {
        let start = output.byteCount
        do {
            try self.decode(into: &output)
        } catch {
            self.phase = .failed(error)
            self.derived?.fail(error)
            // The bytes before the fault are good and come first; the next read throws.
            if output.byteCount == start { throw error }
        }
    }

    func close() {
        if case .decodingBlocks(let pipeline) = self.phase { pipeline.close() }
        self.phase = .failed(BlobError(.closed, "The reader is closed."))
        self.derived?.stop()
        self.base.close()
        self.recording = nil
    }

    private func decode(into output: inout OutputRawSpan) throws {
        if case .opened = self.phase { self.phase = try self.begin() }
        let start = output.byteCount
        switch self.phase {
        case .opened, .ended: return
        case .failed(let error): throw error
        case .decoding(let pass):
            self.held?.move(to: &output)
            if output.byteCount > start { return }
            self.held = nil
            try pass.decode(into: &output)
            guard !pass.isAtEnd else { return try self.end(compressedByteCount: pass.compressedByteOffset) }
        case .decodingBlocks(let pipeline):
            try pipeline.read(into: &output)
            guard output.byteCount == start else { return }
            // What follows the last block, be it only the end.
            let pass = DecodingPass(
                self.base, try self.makeDecoder(at: pipeline.end), locator: self.locator, beginning: pipeline.rest)
            self.phase = .decoding(pass)
            if pipeline.hasFailed { self.held = try self.decodeInstead(pass) }
            return try self.decode(into: &output)
        }
        self.derived?.refresh(afterReading: output.byteCount - start, holdingBytes: output.freeCapacity == 0)
    }

    /// Decodes as much as a batch has, so that nothing of it is delivered if it is damaged, and not just its headers.
    private func decodeInstead(_ pass: DecodingPass) throws -> SliceBuffer {
        let buffer = SliceBuffer(byteCount: BlockPipeline.bufferByteCount)
        try buffer.fill { output in
            while output.freeCapacity > 0, !pass.isAtEnd { try pass.decode(into: &output) }
        }
        return buffer
    }

    /// Looks at the first bytes, to tell how to go on.
    private func begin() throws -> Phase {
        guard self.derived == nil, self.format == .gzip, self.recording?.isRequired != true else {
            return .decoding(
                DecodingPass(self.base, try self.makeDecoder(at: self.start), locator: self.locator))
        }
        let beginning = try self.base.bytes(atMost: BlockHeader.usualByteCount)
        guard let header = BlockHeader(beginning), header.byteCount > 0 else {
            return .decoding(
                DecodingPass(
                    self.base, try self.makeDecoder(at: self.start), locator: self.locator, beginning: beginning))
        }
        return .decodingBlocks(
            BlockPipeline(
                self.base, beginning: beginning, at: self.start, library: self.library,
                recorder: self.recording?.recorder, self.context, found: self.found))
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
        self.derived?.end()
    }
}

extension BlobGuardedReader {
    /// The next bytes, fewer only at the end.
    func bytes(atMost count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            while bytes.count < count {
                let read = try self.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<(count - bytes.count)]))
                guard read > 0 else { break }
                bytes += buffer[..<read]
            }
        }
        return bytes
    }
}
