package import BlobCore
import BlobDeflate

/// The identity of the bytes that an index was made from, as far as it is known without reading all of them.
package struct IndexedContent: Hashable, Sendable {
    /// The number of bytes.
    package let byteCount: Int64

    /// The text of the validator, which includes whether it is a strong one.
    package let validator: String

    /// The time of the last status change of the file, in nanoseconds since 1970; nil when the content is not in a
    /// file.
    package let statusChangeTime: Int64?

    /// The CRC-32 of the first and then the last ``edgeByteCount`` bytes; of all bytes, once, when there are at most
    /// that many.
    package let edgeChecksum: UInt32

    /// The number of bytes that are read at each end: 4 KiB.
    package static let edgeByteCount = 4096

    /// The length of the longest validator that is accepted, in bytes of UTF-8; real ones are far shorter.
    static let maximumValidatorByteCount = 16 * 1024

    package init(byteCount: Int64, validator: String, statusChangeTime: Int64? = nil, edgeChecksum: UInt32) {
        self.byteCount = byteCount
        self.validator = validator
        self.statusChangeTime = statusChangeTime
        self.edgeChecksum = edgeChecksum
    }

    /// Returns the identity of the current content of `base`.
    ///
    /// - Parameter base: The source that is indexed: the compressed bytes of a gzip, the bytes of an archive.
    /// - Returns: Nil when an index would be useless, because `base` has no random access or cannot be opened again, or
    ///   could not be bound to the content, because that has no length or no accepted validator.
    /// - Throws: Errors of opening and reading `base`.
    /// - Complexity: Opens `base` twice, and reads 4 KiB each time.
    package static func of(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> IndexedContent? {
        guard base.traits.contains(.repeatable) else { return nil }
        let info = try base.info(context)
        guard info.isRandomAccess, let byteCount = info.byteCount, let validator = info.validator else { return nil }
        let text = validator.text
        guard text.utf8.count <= Self.maximumValidatorByteCount else { return nil }
        let edge = min(byteCount, Int64(Self.edgeByteCount))
        var sum = CRC32()
        for byteOffset in [0, byteCount - edge] {
            let reader = try base.open(at: byteOffset, matching: validator, context: context)
            defer { reader.close() }
            try reader.bytes(upTo: Int(edge)).withUnsafeBytes { sum.update($0) }
            // Both edges are the same bytes.
            if edge == byteCount { break }
        }
        return IndexedContent(
            byteCount: byteCount, validator: text, statusChangeTime: info.statusChangeTime, edgeChecksum: sum.value)
    }
}
