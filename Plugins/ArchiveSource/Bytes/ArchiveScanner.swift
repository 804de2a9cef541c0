import BlobCore
import BlobPlatform

/// A view of parts of an archive, mostly from front to back, through one large buffer.
///
/// Skipped bytes are read and dropped when that is cheaper than reopening the base, or when there is no other way. Has
/// one owner.
final class ArchiveScanner {
    /// The size of the buffer: large enough that a read costs little more than copying its bytes, small enough for the
    /// second-level cache.
    static let bufferByteCount = 256 * 1024

    /// The largest gap, in bytes, that is cheaper to read and drop than to skip by reopening the base.
    private static let patience: Int64 = 128 * 1024

    let info: BlobInfo
    /// True when every offset can be reached.
    let hasRandomAccess: Bool

    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private let buffer: UnsafeMutableRawBufferPointer
    private var reader: BlobGuardedReader
    /// The offset of the first byte in the buffer, and the number of bytes.
    private var start: Int64 = 0
    private var count = 0

    /// - Parameter byteCount: The size of the buffer, which is the maximum for a single request.
    init(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext, bufferByteCount byteCount: Int = bufferByteCount
    ) throws(BlobError) {
        self.base = base
        self.context = context
        self.reader = try base.open(context: context)
        self.info = try self.reader.info(of: base, context)
        self.hasRandomAccess =
            base.traits.contains(.repeatable) && self.info.isRandomAccess && self.info.byteCount != nil
        self.buffer = .allocate(byteCount: byteCount, alignment: 4096)
    }

    deinit {
        self.reader.close()
        self.buffer.deallocate()
    }

    /// Returns the bytes at an offset, fewer than `count` only at the end of the base; valid until the next call.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset, from 0. Without random access, it must not lie before the buffer.
    ///   - count: The number of bytes, at most the size of the buffer.
    func bytes(at byteOffset: Int64, count: Int) throws(BlobError) -> UnsafeRawBufferPointer {
        let place = Int(clamping: byteOffset - self.start)
        if place >= 0, place <= self.count, count <= self.count - place {
            return UnsafeRawBufferPointer(rebasing: self.buffer[place..<(place + count)])
        }
        try self.fill(from: byteOffset, count)
        return UnsafeRawBufferPointer(rebasing: self.buffer[..<min(count, self.count)])
    }

    /// Returns 1 to `count` bytes at an offset, as many as need no further read; none at the end of the base.
    func some(at byteOffset: Int64, atMost count: Int64) throws(BlobError) -> UnsafeRawBufferPointer {
        guard count > 0 else { return UnsafeRawBufferPointer(rebasing: self.buffer[..<0]) }
        if byteOffset < self.start || byteOffset >= self.start + Int64(self.count) {
            try self.fill(from: byteOffset, 1)
        }
        let place = Int(byteOffset - self.start)
        return UnsafeRawBufferPointer(rebasing: self.buffer[place..<min(self.count, place + Int(clamping: count))])
    }

    /// The offset up to which the base was read; its end after a request beyond it.
    var readerOffset: Int64 { self.reader.byteOffset }

    /// Reads the base to its end, which runs its final checks.
    func drain() throws(BlobError) {
        do {
            while try self.reader.readWaiting(into: self.buffer) > 0 {}
        } catch {
            throw BlobError(wrapping: error)
        }
        (self.start, self.count) = (self.reader.byteOffset, 0)
    }

    /// Moves the buffer to an offset, and fills it with at least `count` bytes, fewer only at the end of the base.
    private func fill(from byteOffset: Int64, _ count: Int) throws(BlobError) {
        precondition(count <= self.buffer.count, "A request must fit in the buffer.")
        let end = self.start + Int64(self.count)
        if byteOffset >= self.start, byteOffset <= end {
            let kept = self.buffer[Int(byteOffset - self.start)..<self.count]
            self.buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: kept))
            self.count = kept.count
        } else {
            self.count = 0
            try self.go(to: byteOffset)
        }
        self.start = byteOffset
        do {
            while self.count < count, self.reader.byteOffset == byteOffset + Int64(self.count) {
                let more = try self.reader.readWaiting(
                    into: UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.count...]))
                guard more > 0 else { break }
                self.count += more
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Moves the reader to an offset, or to the end of the base if that comes first.
    private func go(to byteOffset: Int64) throws(BlobError) {
        let gap = byteOffset - self.reader.byteOffset
        if self.hasRandomAccess, let end = self.info.byteCount, gap < 0 || gap > Self.patience || byteOffset >= end {
            self.reader.close()
            self.reader = try self.base.open(
                at: min(byteOffset, end), matching: self.info.validator, context: self.context)
            return
        }
        guard gap >= 0 else { throw BlobError(.internalError, "A backward seek without random access.") }
        do {
            while self.reader.byteOffset < byteOffset {
                let wanted = min(byteOffset - self.reader.byteOffset, Int64(self.buffer.count))
                let part = UnsafeMutableRawBufferPointer(rebasing: self.buffer[..<Int(wanted)])
                guard try self.reader.readWaiting(into: part) > 0 else { return }
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}
