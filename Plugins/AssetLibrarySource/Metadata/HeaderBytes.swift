/// Random access to the bytes of a file for parsers of headers, with limits that bound the work for any file.
///
/// Offsets come from files and can be anything: bytes outside of the file are nil.
final class HeaderBytes {
    /// The largest number of bytes that all reads together fetch.
    static let byteLimit = 4 << 20
    /// The largest number of reads.
    static let readLimit = 10_000

    let byteCount: Int64
    private let readAt: (Int64, UnsafeMutableRawBufferPointer) -> Int
    private var bytesLeft = HeaderBytes.byteLimit
    private var readsLeft = HeaderBytes.readLimit

    /// - Parameter readAt: Fills a buffer from an offset within the file, and returns the number of bytes read; fewer
    ///   than its length mean that the bytes are unavailable.
    init(byteCount: Int64, readAt: @escaping (Int64, UnsafeMutableRawBufferPointer) -> Int) {
        self.byteCount = byteCount
        self.readAt = readAt
    }

    convenience init(_ bytes: [UInt8]) {
        self.init(byteCount: Int64(bytes.count)) { offset, buffer in
            buffer.copyBytes(from: bytes[Int(offset)...].prefix(buffer.count))
            return min(buffer.count, bytes.count - Int(offset))
        }
    }

    /// Returns exactly `count` bytes; nil when they are outside of the file, past a limit or unavailable.
    func bytes(at offset: Int64, count: Int) -> [UInt8]? {
        guard offset >= 0, count >= 0, offset <= self.byteCount, Int64(count) <= self.byteCount - offset else {
            return nil
        }
        guard count <= self.bytesLeft, self.readsLeft > 0 else { return nil }
        self.bytesLeft -= count
        self.readsLeft -= 1
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            initializedCount = buffer.isEmpty ? 0 : max(0, min(count, self.readAt(offset, buffer)))
        }
        return bytes.count == count ? bytes : nil
    }

    /// Returns the first bytes, at most `count`; none when they are unavailable.
    func prefix(_ count: Int) -> [UInt8] {
        self.bytes(at: 0, count: Int(min(Int64(count), self.byteCount))) ?? []
    }
}

/// A cursor that reads numbers from the front of bytes; returns nil past the end.
struct ByteCursor {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { self.rest = ArraySlice(bytes) }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= self.rest.count else { return nil }
        defer { self.rest = self.rest.dropFirst(count) }
        return self.rest.prefix(count)
    }

    /// Reads an unsigned number of 0 to 8 bytes.
    mutating func number(_ byteCount: Int, isBigEndian: Bool = true) -> UInt64? {
        guard byteCount <= 8, let bytes = self.take(byteCount) else { return nil }
        let ordered = isBigEndian ? Array(bytes) : bytes.reversed()
        return ordered.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
