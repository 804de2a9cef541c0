import BlobCore
import BlobPlatform

/// A reader of parts of an archive, mostly from front to back, through one large buffer.
///
/// Skipped bytes are read and discarded when that is cheaper than reopening the base, or when the base cannot be
/// reopened. Has one owner.
final class ArchiveScanner {
    /// The size of the buffer: large enough that a read costs little more than copying its bytes, small enough for the
    /// second-level cache.
    static let bufferByteCount = 256 * 1024

    private let cursor: BaseCursor
    private let buffer: UnsafeMutableRawBufferPointer
    /// The offset of the first byte in the buffer, and the number of bytes.
    private var bufferOffset: Int64 = 0
    private var count = 0

    /// - Parameter byteCount: The size of the buffer, which is the maximum for a single request.
    init(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext, bufferByteCount byteCount: Int = bufferByteCount
    ) throws(BlobError) {
        self.cursor = try BaseCursor(base, context)
        self.buffer = .allocate(byteCount: byteCount, alignment: 4096)
    }

    deinit { self.buffer.deallocate() }

    var info: BlobInfo { self.cursor.info }

    /// True if every offset can be reached.
    var hasRandomAccess: Bool { self.cursor.hasRandomAccess }

    /// Reopens the base for each gap from now on, because only the needed bytes were requested in advance, not the
    /// bytes between them.
    func skipGaps() { self.cursor.maximumReadGap = 0 }

    /// Returns the bytes at an offset, fewer than `count` only at the end of the base; valid until the next call.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset, at least 0. Without random access, it must not be before the buffer.
    ///   - count: The number of bytes, at most the size of the buffer.
    func bytes(at byteOffset: Int64, count: Int) throws(BlobError) -> UnsafeRawBufferPointer {
        let place = Int(clamping: byteOffset - self.bufferOffset)
        if place >= 0, place <= self.count, count <= self.count - place {
            return UnsafeRawBufferPointer(rebasing: self.buffer[place..<(place + count)])
        }
        try self.fill(from: byteOffset, count)
        return UnsafeRawBufferPointer(rebasing: self.buffer[..<min(count, self.count)])
    }

    /// Returns 1 to `count` bytes at an offset, as many as are available without another read; empty at the end of the
    /// base.
    func availableBytes(at byteOffset: Int64, atMost count: Int64) throws(BlobError) -> UnsafeRawBufferPointer {
        guard count > 0 else { return UnsafeRawBufferPointer(rebasing: self.buffer[..<0]) }
        if byteOffset < self.bufferOffset || byteOffset >= self.bufferOffset + Int64(self.count) {
            try self.fill(from: byteOffset, 1)
        }
        let place = Int(byteOffset - self.bufferOffset)
        return UnsafeRawBufferPointer(rebasing: self.buffer[place..<self.count].prefix(Int(clamping: count)))
    }

    /// Appends bytes at an offset straight from the base, without a copy.
    ///
    /// - Returns: The number of bytes, at most `count`; 0 at the end of the base, or if `byteOffset` differs from
    ///   ``readerOffset``.
    func read(
        at byteOffset: Int64, atMost count: Int64, into output: inout OutputRawSpan
    ) throws(BlobError) -> Int {
        guard byteOffset == self.cursor.byteOffset else { return 0 }
        let appended = try output.withUnsafeMutableBytes { (buffer, initializedCount) throws(BlobError) in
            let room = buffer[initializedCount...].prefix(Int(clamping: count))
            let appended = try self.cursor.read(into: UnsafeMutableRawBufferPointer(rebasing: room))
            initializedCount += appended
            return appended
        }
        (self.bufferOffset, self.count) = (self.cursor.byteOffset, 0)
        return appended
    }

    /// Returns the offset of the first nonzero byte at or after an offset; nil if only zeros follow.
    func firstNonzero(from byteOffset: Int64, _ context: BlobContext) throws(BlobError) -> Int64? {
        var place = byteOffset
        while case let bytes = try self.availableBytes(at: place, atMost: Int64(self.buffer.count)), !bytes.isEmpty {
            if let index = bytes.firstIndex(where: { $0 != 0 }) { return place + Int64(index) }
            place += Int64(bytes.count)
            try context.check()
        }
        return nil
    }

    /// Checks that only zeros, as left by tapes and disks, follow the end of an archive.
    ///
    /// - Throws: ``BlobError/Code/trailingData`` if other data follows; errors from the base.
    func checkEnd(
        of format: ArchiveFormat, at byteOffset: Int64, _ context: BlobContext
    ) throws(BlobError) {
        guard let place = try self.firstNonzero(from: byteOffset, context) else { return }
        throw BlobError(trailingDataAfter: format, at: place)
    }

    /// True after an error from the base.
    var hasFailed: Bool { self.cursor.hasFailed }

    /// The offset up to which the base was read; the end of the base after a request beyond it.
    var readerOffset: Int64 { self.cursor.byteOffset }

    /// Reads the base to its end, which runs its final checks.
    func drain() throws(BlobError) {
        try self.cursor.drain(self.buffer)
        (self.bufferOffset, self.count) = (self.cursor.byteOffset, 0)
    }

    /// Moves the buffer to an offset, and fills it with at least `count` bytes, fewer only at the end of the base.
    private func fill(from byteOffset: Int64, _ count: Int) throws(BlobError) {
        precondition(count <= self.buffer.count, "The requested bytes must fit in the buffer.")
        let end = self.bufferOffset + Int64(self.count)
        if byteOffset >= self.bufferOffset, byteOffset <= end {
            let kept = self.buffer[Int(byteOffset - self.bufferOffset)..<self.count]
            self.buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: kept))
            self.count = kept.count
        } else {
            self.count = 0
            try self.cursor.go(to: byteOffset, self.buffer)
        }
        self.bufferOffset = byteOffset
        while self.count < count, self.cursor.byteOffset == byteOffset + Int64(self.count) {
            let room = UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.count...])
            guard case let more = try self.cursor.read(into: room), more > 0 else { break }
            self.count += more
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns true if both buffers contain the same bytes.
    func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard self.count == other.count, let start = self.baseAddress, let otherStart = other.baseAddress else {
            return self.count == other.count
        }
        return memcmp(start, otherStart, self.count) == 0
    }

    /// Returns the index of the first byte with a value at or after an index; nil if not found.
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard let base = self.baseAddress, let found = memchr(base + start, CInt(byte), self.count - start) else {
            return nil
        }
        return UnsafeRawPointer(found) - base
    }

    // Little-endian numbers; 0, which matches no signature, if a number is not within the buffer.

    @inline(__always)  // Half the time of a pass over a directory.
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

extension Collection<UInt8> where SubSequence == Self {
    /// Removes and returns a number stored as seven bits per byte, lowest bits first, as in xz (The .xz File Format,
    /// 1.2) and RAR 5; returns nil if the number does not end within `maximumByteCount` bytes.
    mutating func popVarint(upTo maximumByteCount: Int) -> UInt64? {
        var number: UInt64 = 0
        for place in 0..<maximumByteCount {
            guard let byte = self.popFirst() else { return nil }
            number |= UInt64(byte & 0x7F) << UInt64(7 * place)
            if byte & 0x80 == 0 { return number }
        }
        return nil
    }
}
