internal import BlobBlocks
import BlobCore

/// A reader of decoded bytes whose length is known from an index, which may be that of other bytes.
final class IndexedBlocksReader: BlobPluginReader {
    private let base: any BlobPluginReader
    private let index: BlockIndex
    private var rest: Int64
    private var failure: BlobError?

    /// - Parameter byteOffset: The offset at which `base` begins, at most the length that the index has.
    init(_ base: any BlobPluginReader, _ index: BlockIndex, at byteOffset: Int64) {
        self.base = base
        self.index = index
        self.rest = index.byteCount - byteOffset
    }

    var info: BlobInfo { self.base.info }
    var isOpen: Bool { self.base.isOpen }
    var neverBlocks: Bool { self.base.neverBlocks }
    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }
    func close() { self.base.close() }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        let start = output.byteCount
        do {
            let result = try self.base.read(into: &output)
            self.rest -= Int64(output.byteCount - start)
            guard self.rest < 0 || result == .end && self.rest > 0 else { return result }
            output.removeLast(output.byteCount - start)
        } catch let error as BlobError where error.code == .invalidArgument {
            // The offset is past the end of the data, and not past that of the index.
        }
        self.index.disprove()
        let failure = BlobError(
            .changed, "The index of these blocks tells of another length than the data have, and is not used any more.")
        self.failure = failure
        throw failure
    }
}
