package import BlobCore

/// A decoder of consecutive Zstandard frames with windows that libarchive refuses, up to 2 GiB.
package final class ZstdStream {
    /// The base-2 logarithms of the smallest window that libzstd can be limited to, and of the largest.
    private static let windowLogs = 10...31

    private let decoder: ZstdDecoder
    /// True when the input so far consists of whole frames.
    package private(set) var isBetweenFrames = true

    /// - Returns: Nil when libzstd cannot be loaded.
    /// - Throws: ``BlobError/Code/io`` when there is no memory.
    package init?(_ context: BlobContext) throws(BlobError) {
        guard BlockFormat.zstd != nil else { return nil }
        let log = Int64.bitWidth - 1 - max(context.memoryLimit, 1).leadingZeroBitCount
        self.decoder = try ZstdDecoder(windowLog: min(max(log, Self.windowLogs.lowerBound), Self.windowLogs.upperBound))
    }

    /// Decodes until `input` is consumed or `output` is full.
    ///
    /// - Throws: ``BlobError/Code/trailingData`` when no frame follows a whole one; as ``BlockDecoder``.
    package func decode(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan
    ) throws(BlobError) {
        let wasBetweenFrames = self.isBetweenFrames
        do throws(BlobError) {
            self.isBetweenFrames = try self.decoder.decode(&input, into: &output)
        } catch {
            guard wasBetweenFrames, error.code == .corrupted else { throw error }
            throw BlobError(.trailingData, "Something follows the end of the zstd stream.")
        }
    }
}
