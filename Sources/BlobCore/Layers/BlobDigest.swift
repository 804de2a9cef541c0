import BlobPlatform

/// A digest algorithm; conform to it to plug in the hash functions of another library.
///
/// ```swift
/// struct Adler32: BlobDigest {
///     let name = "adler32"
///     func makeHasher() -> any BlobHasher { Sums() }
///
///     struct Sums: BlobHasher {
///         private var (a, b) = (UInt32(1), UInt32(0))
///
///         mutating func update(_ bytes: UnsafeRawBufferPointer) {
///             for byte in bytes {
///                 self.a = (self.a + UInt32(byte)) % 65521
///                 self.b = (self.b + self.a) % 65521
///             }
///         }
///
///         mutating func finalize() -> [UInt8] {
///             [UInt8(self.b >> 8), UInt8(self.b & 0xFF), UInt8(self.a >> 8), UInt8(self.a & 0xFF)]
///         }
///     }
/// }
/// ```
public protocol BlobDigest: Sendable {
    /// The name used in commands and messages, such as `sha256`.
    var name: String { get }

    /// Creates a hasher, which starts a new computation.
    func makeHasher() -> any BlobHasher
}

/// One computation of a ``BlobDigest``.
public protocol BlobHasher {
    /// Adds the next bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer)

    /// Returns the digest of all bytes. Must be the last call.
    mutating func finalize() -> [UInt8]
}

extension BlobHasher {
    /// Returns the digest of all bytes as lower-case hexadecimal digits, two per byte. Must be the last call.
    public mutating func finalizeHexadecimal() -> String { self.finalize().hexadecimal }
}

extension BlobInputStreamDataSource {
    /// Returns this source with a layer that computes the digest of the bytes that pass, and checks it before it
    /// reports the end.
    ///
    /// The digest covers the whole blob: opened at an offset, the layer reads and discards the bytes before it, so that
    /// the end always means that the digest was checked. It therefore has no random access.
    ///
    /// ```swift
    /// let checked = source.hashing(with: CryptoDigest.sha256, expected: digest)
    /// ```
    ///
    /// - Parameters:
    ///   - digest: The algorithm.
    ///   - expected: The expected digest; if it differs, the last read throws ``BlobError/Code/checksumMismatch``
    ///     instead of returning the end. If nil, nothing is checked.
    ///   - onDigest: A closure that receives the digest at the end of each pass, on the reading thread, before the end
    ///     is reported.
    public func hashing(
        with digest: any BlobDigest, expected: [UInt8]? = nil, onDigest: (@Sendable ([UInt8]) -> Void)? = nil
    ) -> some BlobInputStreamDataSource {
        DigestSource(base: self, digest: digest, expected: expected, onDigest: onDigest)
    }
}

/// A layer that computes the digest of the bytes that pass, and checks it before it reports the end.
private struct DigestSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let digest: any BlobDigest
    let expected: [UInt8]?
    let onDigest: (@Sendable ([UInt8]) -> Void)?

    func info(over base: BlobInfo) -> BlobInfo {
        var info = base
        info.isRandomAccess = false
        return info
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let base = try self.base.open(matching: opening.validator, context: opening.context)
        return .inspected(base, DigestCheck(layer: self, hasher: self.digest.makeHasher()), startingAt: 0)
    }

    func check(_ found: [UInt8]) throws(BlobError) {
        self.onDigest?(found)
        guard let expected, expected != found else { return }
        throw BlobError(
            .checksumMismatch,
            "The \(self.digest.name) digest is \(found.hexadecimal), but \(expected.hexadecimal) was expected.")
    }
}

private struct DigestCheck: BlobInspector {
    let layer: DigestSource
    var hasher: any BlobHasher

    func info(of base: BlobInfo) -> BlobInfo { self.layer.info(over: base) }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        bytes.withUnsafeBytes { self.hasher.update($0) }
        if isLast { try self.layer.check(self.hasher.finalize()) }
        return 0..<bytes.byteCount
    }
}
