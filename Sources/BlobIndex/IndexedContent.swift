package import BlobCore
import BlobDeflate

/// The identity of the bytes that an index was made from, as far as it can be determined without reading all of them.
package struct IndexedContent: Hashable, Sendable {
    /// The number of bytes.
    package let byteCount: Int64

    /// The text of the validator, which includes whether it is strong.
    package let validator: String

    /// The time of the last status change of the file, in nanoseconds since 1970; nil if the content is not in a
    /// file.
    package let statusChangeTime: Int64?

    /// The CRC-32 of the first and then the last ``edgeByteCount`` bytes, or of all bytes if the content is not longer.
    package let edgeChecksum: UInt32

    /// The number of bytes that are read at each end: 4 KiB.
    package static let edgeByteCount = 4096

    /// The maximum length of an accepted validator, in bytes of UTF-8; real validators are far shorter.
    static let maximumValidatorByteCount = 16 * 1024

    package init(byteCount: Int64, validator: String, statusChangeTime: Int64? = nil, edgeChecksum: UInt32) {
        self.byteCount = byteCount
        self.validator = validator
        self.statusChangeTime = statusChangeTime
        self.edgeChecksum = edgeChecksum
    }

    /// Returns the identity of the current content of `base`.
    ///
    /// - Parameter base: The indexed source: the compressed bytes of a gzip, or the bytes of an archive.
    /// - Returns: Nil if an index would be useless, because `base` has no random access or cannot be opened again, or
    ///   if an index could not be bound to the content, because the content lacks a length or an accepted validator.
    /// - Throws: Errors of opening and reading `base`.
    /// - Complexity: Opens `base` twice, and reads 4 KiB each time.
    package static func read(
        from base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> IndexedContent? {
        guard base.traits.contains(.repeatable) else { return nil }
        let info = try base.info(context)
        guard info.isRandomAccess, let byteCount = info.byteCount, let validator = info.validator else { return nil }
        let text = validator.text
        guard text.utf8.count <= Self.maximumValidatorByteCount else { return nil }
        let edge = min(byteCount, Int64(Self.edgeByteCount))
        var sum = CRC32()
        base.prepare([0..<edge, byteCount - edge..<byteCount], context)
        for byteOffset in [0, byteCount - edge] {
            let bytes = try base.bytes(at: byteOffset, count: Int(edge), matching: validator, context)
            bytes.withUnsafeBytes { sum.update($0) }
            // Both edges are the same bytes.
            if edge == byteCount { break }
        }
        return IndexedContent(
            byteCount: byteCount, validator: text, statusChangeTime: info.statusChangeTime, edgeChecksum: sum.value)
    }

    /// Returns true if the length and both ends are the same.
    func isLike(_ other: IndexedContent) -> Bool {
        self.byteCount == other.byteCount && self.edgeChecksum == other.edgeChecksum
    }
}

/// The identity of some content as far as it can be determined without reading any bytes.
package struct ContentIdentity: Equatable, Sendable {
    private let validator: BlobValidator
    private let statusChangeTime: Int64?

    /// Creates the identity of the content that `info` describes; nil if it has no validator.
    package init?(_ info: BlobInfo) {
        guard let validator = info.validator else { return nil }
        (self.validator, self.statusChangeTime) = (validator, info.statusChangeTime)
    }
}

/// The facts learned about the content of a source, which are discarded when the content changes.
package final class CachedFacts<Facts: Sendable>: Sendable {
    private let cachedFacts = Locked<(content: ContentIdentity, facts: Facts)?>(nil)

    package init() {}

    /// The facts about the last content; nil if unknown.
    package var last: Facts? { self.cachedFacts.withLock { $0?.facts } }

    /// Returns the facts about the content that `info` describes, and determines them if they are unknown.
    ///
    /// Facts about content without a validator are determined each time.
    package func facts(of info: BlobInfo, make: () throws -> Facts) rethrows -> Facts {
        guard let content = ContentIdentity(info) else { return try make() }
        if let known = self.cachedFacts.withLock({ $0 }), known.content == content { return known.facts }
        let facts = try make()
        self.cachedFacts.withLock { $0 = (content, facts) }
        return facts
    }
}

/// The checksums of parts of some content, which identify a copy under another validator.
///
/// There are 32 parts of 4 KiB, evenly spread; in content of at most 132 KiB, they cover all bytes. Changes between the
/// parts are not detected. Together with the checksum of both ends, which in a gzip contain the checksum of the last
/// member, the parts distinguish another version of the content.
struct ContentSamples: Equatable, Sendable {
    /// The CRC-32 of each part, in order.
    let checksums: [UInt32]

    /// The length of a sample in bytes: 4 KiB.
    static let sampleByteCount: Int64 = 4096

    /// The number of parts: 32.
    static let count: Int64 = 32

    /// The version of the format of the section; other versions are not read.
    private static let version: UInt64 = 1

    /// Reads the parts of the current content of `base`, which has random access and `byteCount` bytes.
    ///
    /// - Throws: Errors of opening and reading `base`.
    /// - Complexity: Opens `base` 32 times, and reads 4 KiB each time.
    init(
        of base: any BlobInputStreamDataSource, _ byteCount: Int64, _ context: BlobContext
    ) throws(BlobError) {
        let validator = try base.info(context).validator
        let sampleByteCount = min(byteCount, Self.sampleByteCount)
        let (places, rest) = (byteCount - sampleByteCount).quotientAndRemainder(dividingBy: Self.count + 1)
        let byteOffsets = (1...Self.count).map { places * $0 + rest * $0 / (Self.count + 1) }
        base.prepare(byteOffsets.map { $0..<$0 + sampleByteCount }, context)
        self.checksums = try byteOffsets.map { byteOffset throws(BlobError) in
            let part = try base.bytes(at: byteOffset, count: Int(sampleByteCount), matching: validator, context)
            return CRC32(of: part).value
        }
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
    /// - Throws: ``BlobError/Code/corrupted`` for an unsupported version or a wrong length.
    init(decoding bytes: [UInt8]) throws(BlobError) {
        var reader = IndexReader(bytes)
        guard try reader.readVarint() == Self.version, reader.remaining == Self.count * 4 else {
            throw reader.failure("has an unsupported version or length")
        }
        self.checksums = try (0..<Self.count).map { _ throws(BlobError) in try reader.readFixed(UInt32.self) }
    }
}
