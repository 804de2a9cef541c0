import BlobStreams
import Foundation

/// Reads with an index, and without when the index turns out to be of other bytes.
final class IndexedReader: BlobReader {
    let info: BlobInfo

    private let index: GzipIndex
    private let pass: IndexedPass
    private let startOffset: Int64
    private let openPlainly: (Int64) throws -> any BlobReader
    private var plain: (any BlobReader)?
    private var failure: (any Error)?

    /// - Parameters:
    ///   - byteOffset: 0 to the byte count of the index.
    ///   - openPlainly: Opens a reader at an offset that needs no index, and waits.
    init(
        _ index: GzipIndex, _ opening: IndexedOpening, info: BlobInfo, at byteOffset: Int64,
        openPlainly: @escaping (Int64) throws -> any BlobReader
    ) {
        self.index = index
        self.pass = IndexedPass(index, opening, at: byteOffset)
        self.info = info
        self.startOffset = byteOffset
        self.openPlainly = openPlainly
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do {
            return try self.readChecked(into: &output)
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

    private func readChecked(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let plain { return try plain.read(into: &output) }
        do {
            return try self.pass.read(into: &output)
        } catch let error where error.isAboutContent {
            let plain = try self.readerInstead(of: error)
            self.plain = plain
            return try plain.read(into: &output)
        }
    }

    /// A reader without the index, if the compressed data are whole and the index is to blame.
    private func readerInstead(of error: any Error) throws -> any BlobReader {
        // From the start on, every other error is what the data themselves say. What was delivered from elsewhere was
        // taken from the index, and cannot be joined with bytes that it does not know.
        guard error is IndexMismatch || !self.pass.isFromStart,
            self.pass.isFromStart || self.pass.byteOffset == self.startOffset
        else { throw error }
        self.pass.close()
        let whole = try self.openPlainly(0)
        defer { whole.close() }
        try whole.drain()
        self.index.disprove()
        return try self.openPlainly(self.pass.byteOffset)
    }
}

extension BlobReader {
    /// Reads to the end, for what is checked and made on the way; of a reader that waits.
    func drain(_ onRead: () -> Void = {}) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 4096)
        defer { buffer.deallocate() }
        var result = BlobReadResult.bytes
        while result == .bytes {
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            result = try self.read(into: &output)
            onRead()
        }
    }
}
