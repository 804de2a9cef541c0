internal import BlobCore
import BlobDeflate

/// The checksums of parts of some content, which show that a copy of it under another validator is the same.
///
/// 32 parts of 4 KiB, evenly spread: of content of at most 132 KiB they are all bytes. Changes between the parts are
/// not seen; together with the checksum of both ends, which in a gzip contain the checksum of the last member, they
/// tell another version of the content apart.
struct ContentParts: Equatable, Sendable {
    /// The CRC-32 of each part, in order.
    let checksums: [UInt32]

    /// The length of a part in bytes: 4 KiB.
    static let partByteCount: Int64 = 4096

    /// The number of parts: 32.
    static let count: Int64 = 32

    /// The version of the format of the section; other versions are not read.
    private static let version: UInt64 = 1

    /// Reads the parts of the current content of `base`.
    ///
    /// - Parameters:
    ///   - base: A source with random access.
    ///   - byteCount: The length of its content in bytes.
    ///   - validator: The validator of its content.
    /// - Throws: Errors of opening and reading `base`.
    /// - Complexity: Opens `base` 32 times, and reads 4 KiB each time.
    init(
        of base: any BlobInputStreamDataSource, byteCount: Int64, _ validator: BlobValidator?, _ context: BlobContext
    ) throws(BlobError) {
        let partByteCount = min(byteCount, Self.partByteCount)
        var checksums: [UInt32] = []
        for number in 1...Self.count {
            let (places, rest) = (byteCount - partByteCount).quotientAndRemainder(dividingBy: Self.count + 1)
            let byteOffset = places * number + rest * number / (Self.count + 1)
            let reader = try base.open(at: byteOffset, matching: validator, context: context)
            defer { reader.close() }
            checksums.append(CRC32(of: try reader.bytes(upTo: Int(partByteCount))).value)
        }
        self.checksums = checksums
    }

    /// The encoded section.
    var encoded: [UInt8] {
        var writer = IndexWriter()
        writer.append(varint: Self.version)
        for checksum in self.checksums { writer.append(fixed: checksum) }
        return writer.bytes
    }

    /// Decodes a section.
    ///
    /// - Throws: ``BlobError/Code/corrupted``.
    init(decoding bytes: [UInt8]) throws(BlobError) {
        var reader = IndexReader(bytes)
        guard try reader.varint() == Self.version, reader.remaining == Self.count * 4 else {
            throw reader.failure("has other parts")
        }
        self.checksums = try (0..<Self.count).map { _ throws(BlobError) in try reader.fixed(UInt32.self) }
    }
}

extension BlobReader {
    /// Reads the next `count` bytes; fewer only at the end. Waits for them.
    func bytes(upTo count: Int) throws(BlobError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let read: Int
            do {
                read = try bytes.withUnsafeMutableBytes {
                    try self.readWaiting(into: UnsafeMutableRawBufferPointer(rebasing: $0[filled...]))
                }
            } catch {
                throw BlobError(wrapping: error)
            }
            // A guarded reader throws when the content is shorter than its stated length.
            guard read > 0 else { break }
            filled += read
        }
        return filled == count ? bytes : Array(bytes.prefix(filled))
    }
}

extension IndexSection.Kind {
    /// The checksums of parts of the content.
    static let parts = Self("PRTS")
}
