#if Command
import BlobStreamsStandard

/// Copies sources to an output, with one buffer for all of them.
final class Copier {
    /// The size of the buffer in bytes. It fits into the second-level cache, and an enlarged pipe accepts it in few
    /// writes.
    static let bufferByteCount = 256 * 1024

    private let output: any ByteOutput
    private let maximumByteCount: Int64?
    private let allowance: ByteAllowance?
    private let context: BlobContext
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferByteCount, alignment: 4096)
    private let progress: ProgressSum<String>?
    /// The number of copies of each source, keyed by its locator.
    private var copyCounts: [String: Int] = [:]
    /// The total number of bytes of all copies so far.
    private(set) var writtenByteCount: Int64 = 0

    /// - Parameters:
    ///   - limit: The maximum total number of bytes of all copies; nil for no limit.
    ///   - rate: The maximum rate of all copies together; nil for no limit.
    ///   - progress: The progress of all copies; nil to show none.
    init(
        _ output: any ByteOutput, limit: Int64?, rate: ByteRate? = nil, progress: ProgressSum<String>? = nil,
        _ context: BlobContext
    ) {
        (self.output, self.maximumByteCount, self.progress, self.context) = (output, limit, progress, context)
        self.allowance = rate.map { ByteAllowance(bytesPerSecond: $0.bytesPerSecond) }
    }

    deinit { self.buffer.deallocate() }

    /// Returns the key of the next copy of a source in the progress.
    private func nextKey(of source: any BlobInputStreamDataSource) -> String {
        let text = source.locator?.text ?? ""
        let count = self.copyCounts[text, default: 0]
        self.copyCounts[text] = count + 1
        return ProgressSum.key(of: text, count)
    }

    /// Copies at most `length` bytes, starting at `byteOffset`.
    ///
    /// - Returns: The facts about the source after the last read.
    /// - Throws: ``BlobError/Code/limitExceeded`` if all copies together exceed the limit;
    ///   ``BlobError/Code/invalidArgument`` if fewer than `length` bytes are available and `isWhole` is true; the
    ///   errors of the source and of the output.
    @discardableResult func copy(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64 = 0, upTo length: Int64? = nil,
        isWhole: Bool = false, matching validator: BlobValidator? = nil
    ) throws -> BlobInfo {
        let throttled = self.allowance.map { ThrottledSource(source, sharing: $0) } ?? source
        let progress = self.progress?.isOfInput == false ? self.progress : nil
        let key = progress?.itemCount == nil ? "" : self.nextKey(of: source)
        defer { progress?.finish(key) }
        // Ranges of remote bytes are announced by those who know several of them.
        if let length, (0...(.max - byteOffset)).contains(length), !throttled.traits.contains(.preparable) {
            throttled.prepare([byteOffset..<byteOffset + length], self.context)
        }
        let reader = try throttled.open(at: byteOffset, matching: validator, context: self.context)
        defer { reader.close() }
        var rest = length ?? .max
        let start = self.writtenByteCount
        while rest > 0 {
            let room = UnsafeMutableRawBufferPointer(rebasing: self.buffer.prefix(Int(clamping: rest)))
            let count = try reader.readBlocking(into: room)
            guard count > 0 else {
                guard isWhole, let length else { return reader.info }
                throw BlobError(
                    .invalidArgument,
                    "The range '\(byteOffset) \(length)' exceeds the length of \(reader.byteOffset) bytes.",
                    operation: "read", locator: source.locator?.description, byteOffset: reader.byteOffset)
            }
            let allowed = self.maximumByteCount.map { min(Int64(count), $0 - self.writtenByteCount) } ?? Int64(count)
            try self.output.write(UnsafeRawBufferPointer(rebasing: room[..<Int(allowed)]))
            self.writtenByteCount += allowed
            rest -= allowed
            guard allowed == count else {
                throw BlobError(
                    .limitExceeded, "There are more bytes than the limit of \(self.maximumByteCount ?? 0).",
                    operation: "read",
                    locator: source.locator?.description, byteOffset: reader.byteOffset - Int64(count) + allowed)
            }
            progress?.show(
                key, self.writtenByteCount - start,
                of: reader.info.byteCount.map { min(max($0 - byteOffset, 0), length ?? .max) })
        }
        // All bytes up to the end were requested, so the checks at the end must also pass.
        if reader.byteOffset == reader.info.byteCount { _ = try reader.readBlocking(into: self.buffer) }
        return reader.info
    }

    func finish() { self.progress?.line.clear() }
}

/// An output that discards all bytes.
struct DiscardingOutput: ByteOutput {
    func write(_ bytes: UnsafeRawBufferPointer) {}
}
#endif
