import BlobCore
import BlobDeflate

/// A pass over the bytes of an entry, which adds their checksum to the contents of the zip.
///
/// When it is released before the end, it adds the blocks that it has completed.
final class EntryPass {
    /// The offset reached in the bytes of the entry.
    private(set) var byteOffset: Int64
    private let contents: ZipContents
    private let index: Int
    private let start: Int64
    private var sum = CRC32()
    /// The checksum up to the end of the last block.
    private var run: CheckedRun?
    private var isOver = false

    /// - Parameter byteOffset: The first byte, with which a block begins.
    init(_ contents: ZipContents, _ index: Int, at byteOffset: Int64) {
        (self.contents, self.index, self.start, self.byteOffset) = (contents, index, byteOffset, byteOffset)
    }

    deinit {
        guard !self.isOver, var run else { return }
        // The last block counts only once the source has checked its end.
        if run.range.upperBound == self.contents.entries[self.index].byteCount {
            guard let shorter = run.shorter else { return }
            run = CheckedRun(range: run.range.lowerBound..<shorter.end, sum: shorter.sum, shorter: nil)
        }
        self.contents.add(run, to: self.index)
    }

    /// Checks that a source still has the planned length.
    func check(_ info: BlobInfo) throws(BlobError) {
        let planned = self.contents.entries[self.index].byteCount
        guard let planned, info.byteCount ?? planned != planned else { return }
        throw self.contents.changedError(self.index, "has another length than the \(planned) bytes that it had")
    }

    var surplusError: BlobError {
        self.contents.changedError(self.index, "has more than the \(self.byteOffset) bytes that it had")
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        self.sum.update(bytes)
        self.byteOffset += Int64(bytes.count)
    }

    func endBlock() {
        self.run = CheckedRun(
            range: self.start..<self.byteOffset, sum: self.sum,
            shorter: self.run.map { ($0.range.upperBound, $0.sum) })
    }

    /// Ends the pass at the end of the source.
    ///
    /// - Throws: ``BlobError/Code/changed`` if the bytes differ from the bytes of an earlier pass;
    ///   ``BlobError/Code/checksumMismatch`` if they do not have the checksum that the entry states.
    func finish() throws(BlobError) {
        self.isOver = true
        if let byteCount = self.contents.entries[self.index].byteCount, byteCount != self.byteOffset {
            throw self.contents.changedError(self.index, "ended after \(self.byteOffset) of \(byteCount) bytes")
        }
        guard self.start == 0 else {
            let run = CheckedRun(range: self.start..<self.byteOffset, sum: self.sum, shorter: nil)
            return self.contents.add(run, to: self.index)
        }
        let content = EntryContent(byteCount: self.byteOffset, checksum: self.sum.value)
        try self.contents.set(content, of: self.index)
    }
}

/// Contiguous bytes of an entry and their checksum.
struct CheckedRun {
    var range: Range<Int64>
    var sum: CRC32
    /// The end and the checksum of the run without its last block: a reader that ends in a block may have completed it.
    var shorter: (end: Int64, sum: CRC32)?

    /// Appends the run that begins where this one ends, or where it ends without its last block; returns false for any
    /// other run.
    mutating func append(_ next: CheckedRun) -> Bool {
        if self.range.upperBound != next.range.lowerBound {
            guard let shorter, shorter.end == next.range.lowerBound, next.range.upperBound > self.range.upperBound
            else { return false }
            (self.range, self.sum) = (self.range.lowerBound..<shorter.end, shorter.sum)
        }
        self.shorter = next.shorter.map { end, sum in
            var joined = self.sum
            joined.append(sum, byteCount: end - next.range.lowerBound)
            return (end, joined)
        }
        self.sum.append(next.sum, byteCount: next.range.upperBound - next.range.lowerBound)
        self.range = self.range.lowerBound..<next.range.upperBound
        return true
    }
}
