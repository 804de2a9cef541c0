import BlobPlatform

/// Bytes in memory.
public struct MemorySource: BlobInputStreamDataSource {
    private static let nextIdentity = Locked(0)

    private let data: Data
    private let info: BlobInfo

    /// Creates a source of a copy-on-write view of `data`; nothing is copied.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - mediaType: The media type, when known.
    ///   - name: A name for forms and people.
    public init(_ data: Data, mediaType: String? = nil, name: String? = nil) {
        self.data = data
        // The bytes never change, so an identity within this process is enough for a strong validator.
        let identity = Self.nextIdentity.withLock { identity in
            identity += 1
            return identity
        }
        self.info = BlobInfo(
            byteCount: Int64(data.count), mediaType: mediaType, name: name,
            validator: .strong("memory-\(getpid())-\(identity)"), isRandomAccess: true)
    }

    /// Creates a source of a copy of `bytes`.
    public init(_ bytes: some Sequence<UInt8>, mediaType: String? = nil, name: String? = nil) {
        self.init(Data(bytes), mediaType: mediaType, name: name)
    }

    /// All traits.
    public var traits: BlobTraits { [.neverBlocks, .repeatable, .concurrentReaders] }

    /// The length of the data; the validator is this value's own.
    public func describe(_ context: BlobContext) -> BlobInfo { self.info }

    /// Opens a reader, without copying the data.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let data = self.data
        return try PositionalReader(self.info, at: byteOffset, matching: validator) { offset, output in
            data.withUnsafeBytes { bytes in
                _ = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[Int(offset)...]))
            }
        }
    }
}
