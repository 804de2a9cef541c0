package import BlobCore

/// A parser of the numbers in an index, which checks every length and every varint.
///
/// All errors are ``BlobError/Code/corrupted``, with the offset in the bytes with which the reader was created.
package struct IndexReader: Sendable {
    private let bytes: [UInt8]
    private let endOffset: Int

    /// The offset of the next byte to read, from the start of the bytes.
    package private(set) var byteOffset: Int

    /// Creates a reader of `bytes`.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        (self.byteOffset, self.endOffset) = (0, bytes.count)
    }

    /// Creates a reader of a part of `bytes`; offsets are still relative to the start of `bytes`.
    package init(_ bytes: [UInt8], _ range: Range<Int>) throws(BlobError) {
        self.bytes = bytes
        (self.byteOffset, self.endOffset) = (range.lowerBound, range.upperBound)
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else { throw self.failure("ends too early") }
    }

    /// The number of bytes left to read.
    package var remaining: Int { self.endOffset - self.byteOffset }

    package var isAtEnd: Bool { self.remaining == 0 }

    package mutating func readFixed<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws(BlobError)
        -> Number
    {
        let start = try self.advance(by: MemoryLayout<Number>.size)
        return self.bytes.withUnsafeBytes {
            Number(littleEndian: $0.loadUnaligned(fromByteOffset: start, as: Number.self))
        }
    }

    /// Reads an unsigned LEB128 number; a number of more than 64 bits, or in more bytes than needed, is an error.
    package mutating func readVarint() throws(BlobError) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = self.bytes[try self.advance(by: 1)]
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || (shift == 63 && bits <= 1) else {
                throw self.failure("contains a number that exceeds 64 bits")
            }
            number |= bits << shift
            if byte & 0x80 == 0 {
                guard byte != 0 || shift == 0 else { throw self.failure("contains a number with unnecessary zeros") }
                return number
            }
            shift += 7
        }
    }

    /// Reads a varint that is an offset or a length; a number above `limit` is an error.
    package mutating func count(atMost limit: Int = .max) throws(BlobError) -> Int {
        guard let count = Int(exactly: try self.readVarint()), count <= limit else {
            throw self.failure("contains a number above its limit")
        }
        return count
    }

    package mutating func bytes(count: Int) throws(BlobError) -> ArraySlice<UInt8> {
        let start = try self.advance(by: count)
        return self.bytes[start..<(start + count)]
    }

    /// Reads a length of at most `limit`, and that many bytes.
    package mutating func readCountedBytes(atMost limit: Int) throws(BlobError) -> ArraySlice<UInt8> {
        try self.bytes(count: try self.count(atMost: limit))
    }

    /// Returns the error of an invalid index, with a message that begins with "The index" and continues with
    /// `predicate`.
    package func failure(_ predicate: String) -> BlobError {
        BlobError(.corrupted, "The index \(predicate).", byteOffset: Int64(self.byteOffset))
    }

    private mutating func advance(by count: Int) throws(BlobError) -> Int {
        guard count >= 0, count <= self.remaining else { throw self.failure("ends too early") }
        defer { self.byteOffset += count }
        return self.byteOffset
    }
}

/// An encoder of the numbers in an index, which ``IndexReader`` decodes. Numbers of fixed size are little-endian.
package struct IndexWriter: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func append(_ bytes: some Sequence<UInt8>) { self.bytes.append(contentsOf: bytes) }

    package mutating func append<Number: FixedWidthInteger>(fixed number: Number) {
        withUnsafeBytes(of: number.littleEndian) { self.bytes.append(contentsOf: $0) }
    }

    /// Appends a number as unsigned LEB128: 1 to 10 bytes of seven bits each, the lowest first.
    package mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }

    /// Appends the number of bytes as a varint, and then the bytes.
    package mutating func append(counted bytes: some Collection<UInt8>) {
        self.append(varint: UInt64(bytes.count))
        self.append(bytes)
    }
}
