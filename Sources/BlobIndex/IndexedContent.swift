import BlobInflate
package import BlobStreams

/// What an index is valid for: the bytes that it was made from, as far as that can be told without reading them all.
package struct IndexedContent: Hashable, Sendable {
    /// The length of the bytes.
    package let byteCount: Int64

    /// The text of the validator, which says also whether it is a strong one.
    package let validator: String

    /// The time of the last change of the file's status, in nanoseconds since 1970; nil when the content is in no file.
    package let statusChangeTime: Int64?

    /// CRC-32 of the first and the last ``edgeByteCount`` bytes, one after the other; all of them when there are fewer.
    package let edgeChecksum: UInt32

    /// How much is looked at on each side: 4 KiB.
    package static let edgeByteCount = 4096

    /// The longest validator that is taken; no honest one comes near.
    static let maximumValidatorByteCount = 16 * 1024

    package init(byteCount: Int64, validator: String, statusChangeTime: Int64? = nil, edgeChecksum: UInt32) {
        self.byteCount = byteCount
        self.validator = validator
        self.statusChangeTime = statusChangeTime
        self.edgeChecksum = edgeChecksum
    }

    /// The content of `base` as it is now.
    ///
    /// - Parameter base: What is indexed: the compressed bytes of a gzip, the bytes of an archive.
    /// - Returns: Nil when no index is of use, because `base` has no random access or cannot be opened again, or when it
    ///   cannot be bound to the content, because that has no length or no validator.
    /// - Throws: What reading brings.
    /// - Complexity: Two openings and reads of 4 KiB.
    package static func of(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> IndexedContent? {
        guard base.capabilities.isSuperset(of: [.randomAccess, .repeatable]) else { return nil }
        let info = try base.checkedInfo(context)
        guard let byteCount = info.byteCount, let validator = info.validator else { return nil }
        let text = validator.text
        guard text.utf8.count <= Self.maximumValidatorByteCount else { return nil }
        let edge = min(byteCount, Int64(Self.edgeByteCount))
        var sum = CRC32()
        for byteOffset in [0, byteCount - edge] {
            let reader = try base.open(at: byteOffset, matching: validator, context: context)
            defer { reader.close() }
            var bytes = [UInt8](repeating: 0, count: Int(edge))
            var count = 0
            while count < bytes.count {
                let read: Int
                do {
                    read = try bytes.withUnsafeMutableBytes {
                        try reader.readWaiting(into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]))
                    }
                } catch {
                    throw BlobError(wrapping: error)
                }
                // The guard of the reader throws when the content is shorter than it says.
                guard read > 0 else { break }
                count += read
            }
            bytes.withUnsafeBytes { sum.update(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
            // One look is enough when both edges are the same bytes.
            if edge == byteCount { break }
        }
        return IndexedContent(
            byteCount: byteCount, validator: text, statusChangeTime: info.statusChangeTime, edgeChecksum: sum.value)
    }
}
