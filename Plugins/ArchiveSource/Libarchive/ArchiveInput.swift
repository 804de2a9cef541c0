import BlobCore
import BlobPlatform
import HelperExchange

/// The bytes of a source, which libarchive reads through callbacks.
///
/// Owned by the one ``ArchiveHandle`` that uses it. An error of the source is stored in ``failure`` until the
/// libarchive call that caused it returns.
final class ArchiveInput {
    /// The size of the buffer: large enough to make the cost of a call small, small enough for many readers.
    private static let bufferByteCount = 128 * 1024

    /// The number of bytes at the end of the base that are always passed to libarchive together.
    ///
    /// They include the end of LZMA data in a zip, which libarchive does not accept after all bytes are decoded, and
    /// the record after the data.
    private static let lastByteCount = 64

    private(set) var failure: BlobError?

    private let cursor: BaseCursor
    private let context: BlobContext
    private let buffer: UnsafeMutableRawBufferPointer
    /// The range of the base that is in the buffer.
    private var buffered: Range<Int64> = 0..<0
    private let library: LibraryInput

    /// The number of bytes passed to libarchive, regardless of their offsets.
    private var readByteCount: Int64 = 0

    /// The range of the base that is copied to ``keptBytes``.
    private var keptRange: Range<Int64> = 0..<0
    /// The bytes passed to libarchive, from the beginning of the range requested with ``keep(from:count:)``.
    private(set) var keptBytes: [UInt8] = []

    /// The last consecutive bytes passed to libarchive, at most ``lastByteCount``; needed because a read may return a
    /// single byte.
    private var lastBytes: [UInt8] = []
    /// The offset after these bytes.
    private var lastBytesEndOffset: Int64 = 0

    /// The bytes passed once to libarchive after the end of the base.
    private let suffix: UnsafeMutableRawBufferPointer
    private var isSuffixSupplied = false

    /// - Parameters:
    ///   - format: The name of the format of the archive; empty for other bytes.
    ///   - suffix: The bytes passed to libarchive after the end of the base.
    init(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext, format: String = "", suffix: [UInt8] = []
    ) throws(BlobError) {
        self.cursor = try BaseCursor(base, context)
        self.library = LibraryInput(
            byteCount: self.cursor.hasRandomAccess ? self.cursor.info.byteCount : nil, format: format)
        self.context = context
        self.buffer = .allocate(byteCount: Self.bufferByteCount, alignment: 4096)
        self.suffix = .allocate(byteCount: suffix.count, alignment: 1)
        self.suffix.copyBytes(from: suffix)
    }

    deinit {
        self.buffer.deallocate()
        self.suffix.deallocate()
    }

    var info: BlobInfo { self.cursor.info }
    var hasRandomAccess: Bool { self.cursor.hasRandomAccess }

    func close() { self.cursor.close() }

    /// Closes the base until more bytes are needed. Requires random access.
    func release() { self.cursor.release() }

    /// The offset after the last byte passed to libarchive; without random access, the number of bytes passed.
    var suppliedByteCount: Int64 { self.byteOffset }

    /// The offset in the base of the next byte for libarchive.
    private var byteOffset: Int64 {
        get { self.library.byteOffset }
        set { self.library.byteOffset = newValue }
    }

    /// Checks the ratio of the bytes that libarchive decoded to the bytes passed to it.
    ///
    /// - Throws: The errors thrown by ``BlobContext/checkRatio(ofDecoded:to:)``.
    func checkRatio(ofDecoded byteCount: Int64) throws(BlobError) {
        try self.context.checkRatio(ofDecoded: byteCount, to: self.readByteCount)
    }

    /// The bytes of the base after the last byte passed to libarchive.
    struct TrailingBytes {
        var byteCount: Int64 = 0
        var areZeros = true
        /// The first bytes of the rest, at most 64.
        var beginning: [UInt8] = []

        mutating func append(_ bytes: UnsafeRawBufferPointer) {
            self.byteCount += Int64(bytes.count)
            self.areZeros = self.areZeros && bytes.allSatisfy { $0 == 0 }
            self.beginning += bytes.prefix(64 - self.beginning.count)
        }
    }

    /// Reads the base to its end, which runs its final checks.
    @discardableResult func drain() throws(BlobError) -> TrailingBytes {
        var rest = TrailingBytes()
        while case let count = try self.cursor.read(into: self.buffer), count > 0 {
            rest.append(UnsafeRawBufferPointer(rebasing: self.buffer[..<count]))
        }
        return rest
    }

    /// Requests a copy of `count` bytes at an offset in ``keptBytes``.
    ///
    /// The bytes are copied when they are passed to libarchive, or now if they have been passed and are still in the
    /// buffer.
    func keep(from byteOffset: Int64, count: Int64) {
        self.keptRange = byteOffset..<(byteOffset + count)
        self.keptBytes = []
        let end = min(self.byteOffset, self.buffered.upperBound)
        if end > self.buffered.lowerBound { self.keep(self.buffered.lowerBound..<end) }
    }

    /// Copies the requested bytes in a part of the buffer to ``keptBytes``.
    private func keep(_ given: Range<Int64>) {
        let next = self.keptRange.lowerBound + Int64(self.keptBytes.count)
        guard next < self.keptRange.upperBound, given.contains(next) else { return }
        let wanted = next..<min(given.upperBound, self.keptRange.upperBound)
        let start = Int(wanted.lowerBound - self.buffered.lowerBound)
        self.keptBytes += self.buffer[start..<(start + wanted.count)]
    }

    /// Returns the last `count` bytes passed to libarchive; nil if they are no longer available.
    func lastSuppliedBytes(_ count: Int64) -> [UInt8]? {
        let end = self.byteOffset - self.buffered.lowerBound
        guard (0...end).contains(count), end <= self.buffered.count else {
            return (0...Int64(self.lastBytes.count)).contains(count) ? Array(self.lastBytes.suffix(Int(count))) : nil
        }
        return Array(self.buffer[Int(end - count)..<Int(end)])
    }

    /// Returns the first bytes of the base, fewer only if the base is shorter. Must be called before any other read.
    func beginning(_ byteCount: Int) throws(BlobError) -> [UInt8] {
        // A read may return as little as one byte.
        var count = Int(self.buffered.upperBound)
        while count < byteCount {
            let rest = UnsafeMutableRawBufferPointer(rebasing: self.buffer[count...])
            guard case let more = try self.cursor.read(into: rest), more > 0 else { break }
            count += more
        }
        self.buffered = 0..<Int64(count)
        return Array(self.buffer[..<min(count, byteCount)])
    }

    /// Returns the next bytes, valid until the next call; empty at the end.
    func read() throws -> UnsafeRawBufferPointer {
        try self.context.check()
        if let byteCount = self.library.byteCount, self.byteOffset >= byteCount { return self.takeSuffix() }
        if !self.buffered.contains(self.byteOffset) { try self.fill() }
        let rest = self.buffer[Int(self.byteOffset - self.buffered.lowerBound)..<self.buffered.count]
        let start = self.byteOffset
        self.byteOffset = self.buffered.upperBound
        self.readByteCount += Int64(rest.count)
        if start < self.byteOffset { self.keep(start..<self.byteOffset) }
        if start != self.lastBytesEndOffset { self.lastBytes = [] }
        self.lastBytes = Array((self.lastBytes + rest.suffix(Self.lastByteCount)).suffix(Self.lastByteCount))
        self.lastBytesEndOffset = self.byteOffset
        return rest.isEmpty ? self.takeSuffix() : UnsafeRawBufferPointer(rebasing: rest)
    }

    private func takeSuffix() -> UnsafeRawBufferPointer {
        defer { self.isSuffixSupplied = true }
        return UnsafeRawBufferPointer(rebasing: self.suffix.prefix(self.isSuffixSupplied ? 0 : .max))
    }

    private func fill() throws {
        try self.cursor.go(to: self.byteOffset, self.buffer)
        let start = self.cursor.byteOffset
        let count = start == self.byteOffset ? try self.cursor.read(into: self.room(from: start)) : 0
        self.byteOffset = start
        // At the end, the last bytes stay in the buffer, because they may include the data after a stream.
        guard count > 0 || start != self.buffered.upperBound else { return }
        self.buffered = start..<(start + Int64(count))
    }

    /// Returns the part of the buffer to fill from an offset on.
    private func room(from byteOffset: Int64) -> UnsafeMutableRawBufferPointer {
        let rest = (self.info.byteCount ?? .max) - byteOffset
        let isNearEnd = rest > Int64(self.buffer.count) && rest < Int64(self.buffer.count + Self.lastByteCount)
        return UnsafeMutableRawBufferPointer(rebasing: self.buffer.dropLast(isNearEnd ? Self.lastByteCount : 0))
    }

    /// Connects this input to libarchive; an error is stored in ``failure``.
    func connect(to archive: OpaquePointer) {
        self.library.connect(to: archive) { [unowned self] in
            guard self.failure == nil else { return nil }
            do {
                return try self.read()
            } catch {
                self.failure = BlobError(wrapping: error)
                return nil
            }
        }
    }
}
