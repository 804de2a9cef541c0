import BlobStreams
import Foundation

/// Looks at parts of an archive, mostly from front to back, through one large buffer.
///
/// What is skipped is read as long as that is cheaper than opening the base again, and dropped where there is no other
/// way. Has one owner.
final class ArchiveScanner {
    /// Large enough that a read costs little beside copying its bytes, small enough for the second-level cache.
    static let bufferByteCount = 256 * 1024

    /// Up to here, reading and dropping bytes is cheaper than another opening.
    private static let patience: Int64 = 128 * 1024

    let info: BlobInfo
    /// Whether any place can be gone to.
    let hasRandomAccess: Bool

    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private let buffer: UnsafeMutableRawBufferPointer
    private var reader: BlobGuardedReader
    /// The place of the first byte in the buffer, and how many there are.
    private var start: Int64 = 0
    private var count = 0

    /// - Parameter byteCount: The size of the buffer, which bounds what can be looked at in one piece.
    init(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext, bufferByteCount byteCount: Int = bufferByteCount
    ) throws(BlobError) {
        self.base = base
        self.context = context
        self.reader = try base.open(context: context)
        self.info = try self.reader.info(of: base, context)
        self.hasRandomAccess =
            base.capabilities.isSuperset(of: [.randomAccess, .repeatable]) && self.info.byteCount != nil
        self.buffer = .allocate(byteCount: byteCount, alignment: 4096)
    }

    deinit {
        self.reader.close()
        self.buffer.deallocate()
    }

    /// The bytes at a place, fewer than `count` only at the end of the base. They stay until the next call.
    ///
    /// - Parameters:
    ///   - byteOffset: From 0. Without random access, nothing before the buffer can be gone back to.
    ///   - count: At most the size of the buffer.
    func bytes(at byteOffset: Int64, count: Int) throws(BlobError) -> UnsafeRawBufferPointer {
        let place = Int(clamping: byteOffset - self.start)
        if place >= 0, place <= self.count, count <= self.count - place {
            return UnsafeRawBufferPointer(rebasing: self.buffer[place..<(place + count)])
        }
        try self.fill(from: byteOffset, count)
        return UnsafeRawBufferPointer(rebasing: self.buffer[..<min(count, self.count)])
    }

    /// At least one byte at a place and at most `count`, as many as cost no further read; none at the end of the base.
    func some(at byteOffset: Int64, atMost count: Int64) throws(BlobError) -> UnsafeRawBufferPointer {
        guard count > 0 else { return UnsafeRawBufferPointer(rebasing: self.buffer[..<0]) }
        if byteOffset < self.start || byteOffset >= self.start + Int64(self.count) {
            try self.fill(from: byteOffset, 1)
        }
        let place = Int(byteOffset - self.start)
        return UnsafeRawBufferPointer(rebasing: self.buffer[place..<min(self.count, place + Int(clamping: count))])
    }

    /// How far the base was read; its end, once something behind that was asked for.
    var readerOffset: Int64 { self.reader.byteOffset }

    /// Reads to the end of the base, for what it checks there.
    func drain() throws(BlobError) {
        do {
            while try self.reader.readWaiting(into: self.buffer) > 0 {}
        } catch {
            throw BlobError(wrapping: error)
        }
        (self.start, self.count) = (self.reader.byteOffset, 0)
    }

    /// Moves the buffer to a place, with at least `count` bytes of it.
    private func fill(from byteOffset: Int64, _ count: Int) throws(BlobError) {
        precondition(count <= self.buffer.count, "What is looked at fits the buffer.")
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

    /// Has the reader at a place, or at the end of the base when that comes before.
    private func go(to byteOffset: Int64) throws(BlobError) {
        let gap = byteOffset - self.reader.byteOffset
        if self.hasRandomAccess, let end = self.info.byteCount, gap < 0 || gap > Self.patience || byteOffset >= end {
            self.reader.close()
            self.reader = try self.base.open(
                at: min(byteOffset, end), matching: self.info.validator, context: self.context)
            return
        }
        guard gap >= 0 else { throw BlobError(.internalError, "An archive that cannot seek was to go back.") }
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

extension UnsafeRawBufferPointer {
    /// Whether the same bytes are in both.
    func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard self.count == other.count, let start = self.baseAddress, let otherStart = other.baseAddress else {
            return self.count == other.count
        }
        return memcmp(start, otherStart, self.count) == 0
    }
}

/// Little-endian numbers; those that are not all there are zeros, which are no signature.
extension UnsafeRawBufferPointer {
    @inline(__always)  // Half of the time that going through a directory takes.
    func number16(at offset: Int) -> UInt16 {
        guard offset >= 0, offset + 2 <= self.count else { return 0 }
        return UInt16(littleEndian: self.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    @inline(__always)
    func number32(at offset: Int) -> UInt32 {
        guard offset >= 0, offset + 4 <= self.count else { return 0 }
        return UInt32(littleEndian: self.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inline(__always)
    func number64(at offset: Int) -> UInt64 {
        guard offset >= 0, offset + 8 <= self.count else { return 0 }
        return UInt64(littleEndian: self.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
