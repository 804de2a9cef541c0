import BlobCore

/// A reader of a base that can move to other offsets.
///
/// The cursor reads and discards bytes when that is cheaper than reopening the base, or when the base cannot be
/// reopened. Has one owner.
final class BaseCursor {
    /// The largest gap, in bytes, that is cheaper to read and discard than to skip by reopening the base.
    var maximumReadGap: Int64 = 256 * 1024

    let info: BlobInfo
    /// True if every offset can be reached.
    let hasRandomAccess: Bool

    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private var reader: BlobReader
    /// True if a read fills the whole buffer; false for a preparable base, because filling the buffer could transfer
    /// bytes over a network that are never used.
    private let fillsBuffers: Bool
    /// True after an error from the base, which the reader throws again on each read.
    private(set) var hasFailed = false
    /// True if the reader is closed until more of the base is needed.
    private var isReleased = false

    init(_ base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        self.base = base
        self.context = context
        self.reader = try base.open(context: context)
        // While an event-driven reader is still opening, the source provides the info.
        self.info = self.reader.isOpen ? self.reader.info : try base.info(context)
        self.hasRandomAccess =
            base.traits.contains(.repeatable) && self.info.isRandomAccess && self.info.byteCount != nil
        self.fillsBuffers = self.hasRandomAccess && !base.traits.contains(.preparable)
    }

    deinit { self.reader.close() }

    /// The offset up to which the base was read.
    var byteOffset: Int64 { self.reader.byteOffset }

    /// Closes the base permanently.
    func close() { self.reader.close() }

    /// Closes the base until more bytes are needed. Requires random access.
    func release() {
        self.reader.close()
        self.isReleased = true
    }

    /// Moves to an offset, or to the end of the base if that comes first.
    ///
    /// - Parameter buffer: Scratch space for the bytes that are discarded.
    /// - Throws: ``BlobError/Code/internalError`` for a backward move without random access.
    func go(to byteOffset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws(BlobError) {
        let gap = byteOffset - self.byteOffset
        if self.hasRandomAccess, let end = self.info.byteCount,
            gap < 0 || gap > self.maximumReadGap || self.isReleased || gap > 0 && byteOffset >= end
        {
            self.reader.close()
            self.reader = try self.base.open(
                at: min(byteOffset, end), matching: self.info.validator, context: self.context)
            self.isReleased = false
            return
        }
        guard gap >= 0 else {
            throw BlobError(.internalError, "Could not seek backward in a source without random access.")
        }
        while self.byteOffset < byteOffset {
            let count = min(Int(clamping: byteOffset - self.byteOffset), buffer.count)
            guard try self.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])) > 0 else { return }
        }
    }

    /// Reads the next bytes, at least one; returns their number, 0 at the end of the base.
    ///
    /// If ``fillsBuffers`` is true, fills the buffer unless the base ends, because decoders are slow, or fail, if they
    /// receive a few bytes at a time.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        var filled = 0
        do {
            repeat {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                guard case let count = try self.reader.readBlocking(into: rest), count > 0 else { break }
                filled += count
            } while self.fillsBuffers && filled < buffer.count
        } catch {
            self.hasFailed = true
            // The bytes before the error are returned first; the next read throws it again.
            guard filled > 0 else { throw BlobError(wrapping: error) }
        }
        return filled
    }

    /// Reads the base to its end, which runs its final checks.
    func drain(_ buffer: UnsafeMutableRawBufferPointer) throws(BlobError) {
        while try self.read(into: buffer) > 0 {}
    }
}

extension BlobInputStreamDataSource {
    /// Returns the first bytes, fewer only if the source is shorter.
    func beginning(_ byteCount: Int, _ context: BlobContext) throws(BlobError) -> [UInt8] {
        let reader = try self.open(context: context)
        defer { reader.close() }
        return try reader.beginning(byteCount)
    }
}

extension BlobReader {
    /// Returns the next bytes, fewer only at the end, without moving past them.
    func beginning(_ byteCount: Int) throws(BlobError) -> [UInt8] {
        try BlobError.wrapping { try self.peekBlocking(byteCount).withUnsafeBytes { Array($0) } }
    }
}
