import BlobCore
import BlobDeflate
internal import BlobIndex

/// Supplies a decoder with compressed bytes from a reader.
final class DecodingPass {
    private let base: BlobReader
    private let isBlocking: Bool
    private(set) var decoder: FrameDecoder
    /// The compressed bytes that were fetched but not yet decoded.
    private let input: Window
    /// The compressed offset up to which the decoder has been supplied.
    private var consumedOffset: Int64
    /// The offset of the last restart point that was decoded. Few bytes are needed after it.
    private var endOffset: Int64?

    /// The maximum number of bytes in one fetch, large enough that a read of the base costs little compared with
    /// decoding.
    static let inputByteCount = 64 * 1024
    /// The number of bytes in one fetch after a point, large enough that a few fetches decode a window's length, which
    /// shows whether the point is correct.
    private static let pieceByteCount = 4 * 1024

    /// True once the format and the compressed bytes have ended together and all checks have passed.
    private(set) var isAtEnd = false

    /// The error that ended the decoding.
    private(set) var failure: (any Error)?

    /// - Parameters:
    ///   - base: A reader at the position where `decoder` continues. This pass takes ownership.
    ///   - isBlocking: True to wait while the base has no bytes yet.
    ///   - beginning: The bytes already read from `base` but not yet decoded.
    init(_ base: BlobReader, isBlocking: Bool, _ decoder: consuming FrameDecoder, beginning: [UInt8] = []) {
        self.base = base
        self.isBlocking = isBlocking
        self.consumedOffset = decoder.byteOffset
        self.decoder = decoder
        self.input = Window(max(Self.inputByteCount, beginning.count))
        self.input.fill { output in beginning.withUnsafeBytes { _ = output.append(contentsOf: $0) } }
    }

    /// The offset of the next byte to decode in the compressed data.
    var compressedByteOffset: Int64 { self.decoder.byteOffset }

    /// Resumes at a restart point. The base must be positioned at the byte that contains the point.
    ///
    /// - Parameter beginning: See ``FrameDecoder/resume(at:firstByte:window:beginning:)``.
    func resume(at point: RestartPoint, window: [UInt8], beginning: FrameSum? = nil) throws {
        var firstByte: UInt8 = 0
        if point.bitOffset % 8 != 0 {
            guard let byte = try self.base.bytes(atMost: 1).first else {
                throw BlobError(.truncated, "The compressed data ends before a restart point of its index.")
            }
            firstByte = byte
        }
        window.withUnsafeBytes {
            self.decoder.resume(at: point, firstByte: firstByte, window: $0, beginning: beginning)
        }
        self.consumedOffset = self.decoder.byteOffset
    }

    /// Decodes the next bytes and returns the result of the read.
    ///
    /// Bytes decoded before an error are delivered first. The next call throws the error.
    @discardableResult
    func decode(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        let start = output.byteCount
        do {
            return try self.locatingErrors {
                var result = BlobReadResult.bytes
                while result == .bytes {
                    try self.decodeInput(.max, into: &output)
                    // Decoded bytes are delivered before more is read from the base.
                    if output.byteCount > start { return .bytes }
                    result = try self.refill(into: &output)
                }
                return output.byteCount > start ? .bytes : result
            }
        } catch {
            self.failure = error
            guard output.byteCount > start else { throw error }
            return .bytes
        }
    }

    /// Decodes up to the end and discards the bytes, to perform the checks and create the index; returns the number of
    /// bytes.
    ///
    /// The base must be positioned at the start.
    func drain(_ context: BlobContext, onRead: () -> Void = {}) throws -> Int64 {
        let buffer = Window(256 * 1024)
        var byteCount: Int64 = 0
        while true {
            try context.checkRatio(ofDecoded: byteCount, to: self.compressedByteOffset)
            let result = try buffer.fill { try self.decode(into: &$0) }
            byteCount += Int64(buffer.count)
            onRead()
            if result == .end { return byteCount }
        }
    }

    /// Decodes the compressed bytes before a restart point until the output is full.
    ///
    /// - Parameter output: A span with more free capacity than the expected bytes need, because an end is not detected
    ///   once the output is full.
    /// - Returns: True if decoding has reached the byte of the point, within data or after a member as the point
    ///   requires. The caller compares the number of appended bytes.
    func decode(upTo point: RestartPoint, into output: inout OutputRawSpan) throws -> Bool {
        let end = (point.bitOffset + 7) / 8
        self.endOffset = end
        try self.locatingErrors {
            repeat {
                try self.decodeInput(end - self.consumedOffset, into: &output)
            } while try output.freeCapacity > 0 && self.consumedOffset < end && self.refill(into: &output) == .bytes
        }
        guard self.consumedOffset == end else { return false }
        return point.isInData ? self.decoder.isInData : self.decoder.isBetweenMembers
    }

    func close() { self.base.close() }

    /// Decodes at most `count` of the fetched bytes.
    private func decodeInput(_ count: Int64, into output: inout OutputRawSpan) throws {
        var part = UnsafeRawBufferPointer(rebasing: self.input.bytes.prefix(Int(clamping: max(count, 0))))
        let partCount = part.count
        defer {
            let used = partCount - part.count
            self.input.drop(used)
            self.consumedOffset += Int64(used)
        }
        try self.decoder.decode(&part, into: &output)
    }

    /// Fetches compressed bytes. At the end, appends the bytes that were held back.
    private func refill(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let result = try self.input.fill { input in
            var result = BlobReadResult.end
            try input.append(atMost: self.fetchByteCount) {
                result = try self.base.read(into: &$0, isBlocking: self.isBlocking)
            }
            return result
        }
        guard result == .end else { return result }
        let start = output.byteCount
        try self.decoder.flush(into: &output)
        guard output.byteCount == start else { return .end }
        try self.decoder.finish()
        self.isAtEnd = true
        return .end
    }

    /// The number of bytes to fetch at once: a whole buffer, but only up to one piece after the point, and whole
    /// buffers again if decoding continues far past the point.
    private var fetchByteCount: Int {
        guard let end = self.endOffset, self.consumedOffset < end + Int64(Self.inputByteCount) else {
            return Self.inputByteCount
        }
        return min(Self.inputByteCount, Int(max(end - self.consumedOffset, 0)) + Self.pieceByteCount)
    }

    private func locatingErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as BlobError where error.layers.isEmpty {
            // A decoder error. Errors of the base already include their locator.
            var error = error
            error.locator = self.base.locator?.description
            throw error
        }
    }
}

extension BlobReader {
    /// Reads the next bytes, waiting for them if `isBlocking` is true.
    func read(into output: inout OutputRawSpan, isBlocking: Bool) throws -> BlobReadResult {
        try isBlocking ? self.readBlocking(into: &output) : self.read(into: &output)
    }
}

/// One pass over compressed bytes that uses no index but may create one.
struct DecodingJob {
    let source: GzipSource
    /// Creates an index during the pass; nil to create none.
    let recorder: PointRecorder?
    let context: BlobContext

    /// Creates a decoder that begins at a position before a header.
    func makeDecoder(at point: RestartPoint = .start) throws(BlobError) -> FrameDecoder {
        var decoder = try self.source.makeDecoder(self.recorder)
        if point.bitOffset > 0 {
            decoder.resume(at: point, firstByte: 0, window: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return decoder
    }

    /// Writes the index and reports the checks, after the format and the compressed bytes have ended together.
    ///
    /// - Parameter byteCount: The number of decoded bytes.
    func end(compressedByteCount: Int64, byteCount: Int64) throws(BlobError) {
        try self.recorder?.finish(compressedByteCount: compressedByteCount)
        self.source.reportEnd(byteCount: byteCount, self.context)
    }
}

/// Decodes compressed bytes on one thread.
final class GzipDecoder: BlobTransform {
    private let job: DecodingJob
    private let info: BlobInfo
    private var decoder: FrameDecoder
    private var byteCount: Int64 = 0

    /// - Parameters:
    ///   - start: A position before a header, where the input begins.
    ///   - info: The info of the decoded bytes.
    init(_ job: DecodingJob, at start: RestartPoint, info: BlobInfo) throws(BlobError) {
        self.job = job
        self.info = info
        self.decoder = try job.makeDecoder(at: start)
    }

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep {
        let start = output.byteCount
        defer { self.byteCount += Int64(output.byteCount - start) }
        let rest = try input.withUnsafeBytes { bytes throws(BlobError) in
            var rest = bytes
            try self.decoder.decode(&rest, into: &output)
            return rest.count
        }
        input = input.extracting(last: rest)
        guard output.freeCapacity > 0 else { return .full }
        guard isLast else { return .needsInput }
        try self.decoder.flush(into: &output)
        // The bytes are delivered before the checks at the end are performed.
        guard output.byteCount == start else { return .full }
        try self.decoder.finish()
        try self.job.end(compressedByteCount: self.decoder.byteOffset, byteCount: self.byteCount)
        return .end
    }
}
