import BlobPlatform

/// A source of bytes in memory.
///
/// ```swift
/// let source = MemorySource(Data("Hello".utf8), mediaType: "text/plain", name: "greeting.txt")
/// let copy = try source.data(upTo: 1024)
/// ```
public struct MemorySource: ForwardingSource {
    private static let nextIdentity = Locked(0)

    package let base: any BlobInputStreamDataSource

    /// Creates a source of `bytes`, which are not copied if they are `Data`.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - mediaType: The media type, when known.
    ///   - name: A name for forms and people.
    ///   - validator: The identity of the bytes; nil, the default, makes a strong one that is unique to this source.
    public init(
        _ bytes: some Sequence<UInt8>, mediaType: String? = nil, name: String? = nil, validator: BlobValidator? = nil
    ) {
        let data = bytes as? Data ?? Data(bytes)
        let info = BlobInfo(
            byteCount: Int64(data.count), mediaType: mediaType, name: name, validator: validator ?? Self.identity())
        self.base = PositionalSource("MemorySource", info, [.neverBlocks, .repeatable, .concurrentReaders]) {
            offset, output, _, _ in
            data.withUnsafeBytes { bytes in
                _ = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[Int(offset)...]))
            }
        }
    }

    /// Returns a new identity. The bytes never change, so one within this process is enough for a strong validator.
    private static func identity() -> BlobValidator {
        let number = self.nextIdentity.withLock { identity in
            identity += 1
            return identity
        }
        return .strong("memory-\(getpid())-\(number)")
    }
}
