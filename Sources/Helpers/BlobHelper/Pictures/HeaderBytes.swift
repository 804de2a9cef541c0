import BlobCore

/// Random access to the bytes of a file for parsers of headers, with limits that bound the work for any file.
///
/// Offsets come from files and may have any value: reads outside the file return nil.
package final class HeaderBytes {
    /// The maximum number of bytes fetched by all reads together.
    package static let byteLimit = 4 << 20
    /// The maximum number of reads.
    package static let maximumReadCount = 10_000

    package let byteCount: Int64
    private let readAt: (Int64, UnsafeMutableRawBufferPointer) -> Int
    private var remainingByteCount = HeaderBytes.byteLimit
    private var remainingReadCount = HeaderBytes.maximumReadCount

    /// Creates an accessor of the bytes of a file.
    ///
    /// - Parameter readAt: A closure that fills a buffer from an offset within the file, and returns the number of
    ///   bytes read, which is less than the buffer's length if the bytes are unavailable.
    package init(byteCount: Int64, readAt: @escaping (Int64, UnsafeMutableRawBufferPointer) -> Int) {
        self.byteCount = byteCount
        self.readAt = readAt
    }

    package convenience init(_ bytes: [UInt8]) {
        self.init(byteCount: Int64(bytes.count)) { offset, buffer in
            buffer.copyBytes(from: bytes[Int(offset)...].prefix(buffer.count))
            return min(buffer.count, bytes.count - Int(offset))
        }
    }

    /// Returns exactly `count` bytes; nil if they are outside the file, past a limit or unavailable.
    package func bytes(at offset: Int64, count: Int) -> [UInt8]? {
        guard offset >= 0, count >= 0, offset <= self.byteCount, Int64(count) <= self.byteCount - offset else {
            return nil
        }
        guard count <= self.remainingByteCount, self.remainingReadCount > 0 else { return nil }
        self.remainingByteCount -= count
        self.remainingReadCount -= 1
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            initializedCount = buffer.isEmpty ? 0 : max(0, min(count, self.readAt(offset, buffer)))
        }
        return bytes.count == count ? bytes : nil
    }

    /// Returns the first bytes, at most `count`; an empty array if they are unavailable.
    package func prefix(_ count: Int) -> [UInt8] {
        self.bytes(at: 0, count: Int(min(Int64(count), self.byteCount))) ?? []
    }

    /// Returns the content of the first box of a type; nil if not found.
    ///
    /// - Parameter range: The content of the enclosing box; nil for the file.
    package func box(_ type: String, in range: Range<Int64>? = nil) -> Range<Int64>? {
        FileBoxes(self, in: range ?? 0..<self.byteCount).first { $0.type == type }?.content
    }

    /// Returns a cursor over the first bytes of a range, at most `limit`; nil if they are unavailable.
    package func cursor(_ range: Range<Int64>?, limit: Int = .max) -> ByteCursor? {
        range.flatMap { self.bytes(at: $0.lowerBound, count: Swift.min($0.count, limit)) }.map(ByteCursor.init)
    }
}

/// A cursor that reads numbers from the front of bytes, and returns nil past the end.
package struct ByteCursor {
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: some Sequence<UInt8>) { self.rest = ArraySlice(bytes) }

    package mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= self.rest.count else { return nil }
        defer { self.rest = self.rest.dropFirst(count) }
        return self.rest.prefix(count)
    }

    /// Reads an unsigned number of 0 to 8 bytes.
    package mutating func number(_ byteCount: Int, isBigEndian: Bool = true) -> UInt64? {
        guard byteCount <= 8, let bytes = self.take(byteCount) else { return nil }
        return isBigEndian ? bytes.bigEndian : bytes.littleEndian
    }
}

/// The boxes in a range of an ISO base media file (ISO/IEC 14496-12, section 4.2); ends at an invalid box.
package struct FileBoxes: Sequence, IteratorProtocol {
    package struct Box {
        package let type: String
        package let content: Range<Int64>
    }

    private let bytes: HeaderBytes
    private var rest: Range<Int64>

    package init(_ bytes: HeaderBytes, in range: Range<Int64>) {
        self.bytes = bytes
        self.rest = range.clamped(to: 0..<bytes.byteCount)
    }

    package mutating func next() -> Box? {
        let start = self.rest.lowerBound
        guard self.rest.count >= 8, var head = self.bytes.bytes(at: start, count: 8).map(ByteCursor.init),
            let short = head.number(4)
        else { return nil }
        // Types may contain letters beyond ASCII.
        let type = String(String.UnicodeScalarView(head.rest.map { Unicode.Scalar($0) }))
        var headCount: Int64 = 8
        var size = Int64(short)
        if short == 1 {
            guard var long = self.bytes.bytes(at: start + 8, count: 8).map(ByteCursor.init),
                let value = long.number(8).flatMap(Int64.init(exactly:))
            else { return nil }
            (headCount, size) = (16, value)
        } else if short == 0 {
            size = Int64(self.rest.count)
        }
        guard size >= headCount, size <= Int64(self.rest.count) else { return nil }
        self.rest = (start + size)..<self.rest.upperBound
        return Box(type: type, content: (start + headCount)..<(start + size))
    }
}

/// The segments of a JPEG before its first scan (ITU-T T.81, annex B); ends at an invalid segment.
package struct JPEGSegments: Sequence, IteratorProtocol {
    private let bytes: HeaderBytes
    private var offset: Int64 = 2

    package init(_ bytes: HeaderBytes) { self.bytes = bytes }

    /// Returns the next marker, and the range of its segment's content, which follows the length field.
    package mutating func next() -> (marker: UInt8, content: Range<Int64>)? {
        while let head = self.bytes.bytes(at: self.offset, count: 4), head[0] == 0xFF {
            switch head[1] {
            case 0xFF: self.offset += 1  // Fill bytes may precede a marker.
            case 0x01, 0xD0...0xD8: self.offset += 2  // These have no length.
            case 0xD9, 0xDA: return nil
            default:
                let length = Int64(head[2]) << 8 | Int64(head[3])
                guard length >= 2 else { return nil }
                let content = (self.offset + 4)..<(self.offset + 2 + length)
                self.offset = content.upperBound
                return (head[1], content)
            }
        }
        return nil
    }
}
