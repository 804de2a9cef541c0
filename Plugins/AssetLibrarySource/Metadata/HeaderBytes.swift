/// The bytes of a file, for parsers of headers: at any offset, within limits that no file can exceed.
///
/// Offsets come from files and can be anything: what does not lie in the file is nil.
final class HeaderBytes {
    /// How many bytes all reads together may fetch.
    static let byteLimit = 4 << 20
    /// How many reads there may be.
    static let readLimit = 10_000

    let byteCount: Int64
    private let readAt: (Int64, UnsafeMutableRawBufferPointer) -> Int
    private var bytesLeft = HeaderBytes.byteLimit
    private var readsLeft = HeaderBytes.readLimit

    /// - Parameter readAt: Reads at an offset within the file; fewer bytes than asked for mean that they cannot be had.
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

    /// Exactly `count` bytes, or nil.
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

    /// The first bytes, at most `count`.
    func prefix(_ count: Int) -> [UInt8] {
        self.bytes(at: 0, count: Int(min(Int64(count), self.byteCount))) ?? []
    }
}

/// Reads numbers from bytes, from the front; nil past the end.
struct ByteCursor {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { self.rest = ArraySlice(bytes) }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= self.rest.count else { return nil }
        defer { self.rest = self.rest.dropFirst(count) }
        return self.rest.prefix(count)
    }

    /// An unsigned number of 0 to 8 bytes.
    mutating func number(_ byteCount: Int, isBigEndian: Bool = true) -> UInt64? {
        guard byteCount <= 8, let bytes = self.take(byteCount) else { return nil }
        let ordered = isBigEndian ? Array(bytes) : bytes.reversed()
        return ordered.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
