public import BlobCore
import Crypto

/// A digest of swift-crypto, for `source.hashing(with:)`.
public struct CryptoDigest: BlobDigest {
    /// SHA-256 (FIPS 180-4).
    public static let sha256 = CryptoDigest("sha256", SHA256.self)
    /// SHA-384 (FIPS 180-4).
    public static let sha384 = CryptoDigest("sha384", SHA384.self)
    /// SHA-512 (FIPS 180-4).
    public static let sha512 = CryptoDigest("sha512", SHA512.self)
    /// SHA-1 (FIPS 180-4), for comparison with published digests; broken as a protection against tampering.
    public static let sha1 = CryptoDigest("sha1", Insecure.SHA1.self)
    /// MD5 (RFC 1321), for comparison with published digests; broken as a protection against tampering.
    public static let md5 = CryptoDigest("md5", Insecure.MD5.self)

    /// All digests, the recommended one first.
    public static let all = [sha256, sha384, sha512, sha1, md5]

    /// The name that commands and people use: `sha256`.
    public let name: String
    private let make: @Sendable () -> any BlobHasher

    private init<Function: HashFunction>(_ name: String, _ function: Function.Type)
    where Function: SendableMetatype {
        self.name = name
        self.make = { CryptoHasher<Function>() }
    }

    /// Creates a hasher that has received no bytes.
    public func makeHasher() -> any BlobHasher { self.make() }
}

private struct CryptoHasher<Function: HashFunction>: BlobHasher {
    private var function = Function()

    mutating func update(_ bytes: UnsafeRawBufferPointer) { self.function.update(bufferPointer: bytes) }

    mutating func finalize() -> [UInt8] { Array(self.function.finalize()) }
}
