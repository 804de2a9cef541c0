import CZlib

/// Deflate data as zlib decodes them.
struct ZlibDecoded {
    var bytes: [UInt8] = []
    /// True when the end was reached, and every checksum before it was right.
    var isWhole = false
    /// True when there may be more bytes than were decoded.
    var isCut = false
    /// The number of bytes that were consumed, up to the end.
    var consumedCount = 0

    /// Decodes one stream from the start of `input`.
    ///
    /// - Parameters:
    ///   - windowBits: As in zlib: -15 for raw deflate data, 15 for zlib, 31 for one member of a gzip.
    ///   - limit: The number of bytes after which no more are decoded.
    init(_ input: some Collection<UInt8>, windowBits: CInt, atMost limit: Int) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard blob_inflate_init(stream, windowBits) == Z_OK else { return }
        defer { inflateEnd(stream) }
        let input = Array(input)
        var piece = [UInt8](repeating: 0, count: 16 * 1024)
        var status = Z_OK
        input.withUnsafeBufferPointer { input in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            while status == Z_OK, self.bytes.count < limit {
                let count = piece.withUnsafeMutableBufferPointer { piece in
                    stream.pointee.next_out = piece.baseAddress
                    stream.pointee.avail_out = UInt32(piece.count)
                    status = inflate(stream, Z_NO_FLUSH)
                    return piece.count - Int(stream.pointee.avail_out)
                }
                self.bytes += piece.prefix(count)
            }
            self.consumedCount = input.count - Int(stream.pointee.avail_in)
        }
        self.isWhole = status == Z_STREAM_END
        self.isCut = status == Z_OK
    }

    /// Decodes a gzip: all its members, and the zeros that may follow them (gzip(1), RFC 1952 section 2.2).
    init(gzip: [UInt8], atMost limit: Int) {
        var rest = gzip[...]
        repeat {
            let member = ZlibDecoded(rest, windowBits: 31, atMost: limit - self.bytes.count)
            self.bytes += member.bytes
            self.isCut = member.isCut || self.bytes.count >= limit
            guard member.isWhole, !self.isCut else { return }
            rest = rest.dropFirst(member.consumedCount)
        } while !rest.allSatisfy { $0 == 0 }
        self.isWhole = true
    }
}

extension [UInt8] {
    /// Returns a little-endian number; nil past the end.
    func number(at offset: Int, count: Int) -> Int? {
        guard offset >= 0, count <= 8, offset <= self.count - count else { return nil }
        return Int(exactly: self[offset..<(offset + count)].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Overwrites a little-endian number; does nothing past the end.
    mutating func set(_ number: some BinaryInteger, at offset: Int, count: Int) {
        guard offset >= 0, offset <= self.count - count else { return }
        for index in 0..<count { self[offset + index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
    }
}
