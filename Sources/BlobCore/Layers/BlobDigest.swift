/// A digest algorithm: how hash functions of other libraries enter the core.
public protocol BlobDigest: Sendable {
    /// The name that commands and people use: `sha256`.
    var name: String { get }

    /// Starts a computation.
    func makeHasher() -> any BlobHasher
}

/// One computation of a ``BlobDigest``.
public protocol BlobHasher {
    /// Takes the next bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer)

    /// The digest of all bytes so far. The last call.
    mutating func finalize() -> [UInt8]
}

extension [UInt8] {
    /// Two lower-case hexadecimal digits for each byte.
    public var hexadecimal: String {
        self.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
