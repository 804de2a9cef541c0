import BlobCore
import BlobPlatform

/// A reader that uses an index, and continues without it when the index turns out to be made from other bytes.
final class IndexedReader: BlobPluginReader {
    let info: BlobInfo

    private let index: GzipIndex
    private let pass: IndexedPass
    private let context: BlobContext
    private let format: GzipSource.Format
    private var isReported = false
    private let startOffset: Int64
    private let openUnindexed: (Int64) throws -> any BlobPluginReader
    private var plain: (any BlobPluginReader)?
    private var failure: (any Error)?

    /// - Parameters:
    ///   - byteOffset: 0 to the byte count of the index.
    ///   - openUnindexed: Opens a reader at an offset that uses no index, and whose reads wait for bytes.
    init(
        _ index: GzipIndex, _ opening: IndexedOpening, info: BlobInfo, at byteOffset: Int64,
        openUnindexed: @escaping (Int64) throws -> any BlobPluginReader
    ) {
        self.index = index
        self.pass = IndexedPass(index, opening, at: byteOffset)
        self.context = opening.context
        self.format = opening.format
        self.info = info
        self.startOffset = byteOffset
        self.openUnindexed = openUnindexed
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do {
            if self.plain == nil, self.context.ratioLimit != nil { try self.checkRatio() }
            let result = try self.readChecked(into: &output)
            if result == .end { self.reportEnd() }
            return result
        } catch {
            let error = (error as? IndexMismatch)?.error ?? error
            self.failure = error
            throw error
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.pass.close()
        self.plain?.close()
        self.plain = nil
    }

    /// Reports a pass from the start, which compares the trailers; another one rests on the checksums of the index.
    private func reportEnd() {
        guard self.plain == nil, self.pass.isFromStart, self.startOffset == 0, !self.isReported else { return }
        self.isReported = true
        self.context.reportEnd(
            of: self.format.rawValue, byteCount: self.pass.byteOffset, check: self.format.checksumName)
    }

    /// Compares the bytes that were read with the compressed bytes of their slices.
    private func checkRatio() throws(BlobError) {
        let layout = self.index.layout
        let (first, last) = (layout.sliceIndex(of: self.startOffset), layout.sliceIndex(of: self.pass.byteOffset))
        try self.context.checkRatio(
            ofDecoded: self.pass.byteOffset - self.startOffset,
            to: layout.compressedRange(of: last).upperBound - layout.compressedRange(of: first).lowerBound)
    }

    private func readChecked(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let plain { return try plain.read(into: &output) }
        do {
            return try self.pass.read(into: &output)
        } catch let error where error.isContentError {
            let plain = try self.fallbackReader(of: error)
            self.plain = plain
            return try plain.read(into: &output)
        }
    }

    /// Returns a reader that uses no index, if the compressed data are intact and the index is wrong; throws otherwise.
    private func fallbackReader(of error: any Error) throws -> any BlobPluginReader {
        // In a pass from the start, any other error comes from the data. Bytes delivered by a pass from elsewhere
        // depend on the index, and cannot be continued without it.
        guard error is IndexMismatch || !self.pass.isFromStart,
            self.pass.isFromStart || self.pass.byteOffset == self.startOffset
        else { throw error }
        self.pass.close()
        let whole = try self.openUnindexed(0)
        defer { whole.close() }
        let byteCount = try whole.drain()
        self.index.disprove()
        guard byteCount == self.info.byteCount else {
            throw BlobError(
                .changed,
                "The index of this gzip tells of another length, and is not used any more: it has \(byteCount) bytes.")
        }
        return try self.openUnindexed(self.pass.byteOffset)
    }
}

extension BlobPluginReader {
    /// Reads up to the end and discards the bytes, for the checks and the index that are made during the read; returns
    /// their number. The reader must wait for bytes.
    @discardableResult func drain(_ onRead: () -> Void = {}) throws -> Int64 {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 4096)
        defer { buffer.deallocate() }
        var result = BlobReadResult.bytes
        var byteCount: Int64 = 0
        while result == .bytes {
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            result = try self.read(into: &output)
            byteCount += Int64(output.byteCount)
            onRead()
        }
        return byteCount
    }
}
