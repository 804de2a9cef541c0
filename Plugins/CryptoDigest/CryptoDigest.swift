public import BlobCore
package import BlobPlatform

#if Crypto
import Crypto
#endif

/// A swift-crypto digest, for use with `source.hashing(with:)`.
///
/// This type requires the package trait `Crypto`, which is on by default.
public struct CryptoDigest: BlobDigest {
    private enum Function: String {
        case sha256, sha384, sha512, sha1, md5
    }

    /// SHA-256 (FIPS 180-4).
    public static let sha256 = CryptoDigest(.sha256)
    /// SHA-384 (FIPS 180-4).
    public static let sha384 = CryptoDigest(.sha384)
    /// SHA-512 (FIPS 180-4).
    public static let sha512 = CryptoDigest(.sha512)
    /// SHA-1 (FIPS 180-4), for comparison with published digests. It no longer protects against tampering.
    public static let sha1 = CryptoDigest(.sha1)
    /// MD5 (RFC 1321), for comparison with published digests. It no longer protects against tampering.
    public static let md5 = CryptoDigest(.md5)

    /// All digests, the recommended one first; empty without the trait `Crypto`.
    public static let all = Self.isAvailable ? [sha256, sha384, sha512, sha1, md5] : []

    private let function: Function

    private init(_ function: Function) { self.function = function }

    /// The name that commands and people use, such as `sha256`.
    public var name: String { self.function.rawValue }
}

#if Crypto
extension CryptoDigest {
    private static let isAvailable = true

    /// Creates a hasher that has received no bytes yet. Traps without the trait `Crypto`.
    public func makeHasher() -> any BlobHasher {
        switch self.function {
        case .sha256: CryptoHasher<SHA256>()
        case .sha384: CryptoHasher<SHA384>()
        case .sha512: CryptoHasher<SHA512>()
        case .sha1: CryptoHasher<Insecure.SHA1>()
        case .md5: CryptoHasher<Insecure.MD5>()
        }
    }

    /// Returns the HMAC (RFC 2104) of the bytes with SHA-256.
    package static func authenticationCode(of bytes: [UInt8], with key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }
}

private struct CryptoHasher<Function: HashFunction>: BlobHasher {
    private var function = Function()

    mutating func update(_ bytes: UnsafeRawBufferPointer) { self.function.update(bufferPointer: bytes) }

    mutating func finalize() -> [UInt8] { Array(self.function.finalize()) }
}
#else
extension CryptoDigest {
    private static let isAvailable = false
    private static let missingTrait = "Digests need the trait Crypto of the package BlobStreams, which is not enabled."

    /// Traps, because the trait `Crypto` is off.
    public func makeHasher() -> any BlobHasher { preconditionFailure(Self.missingTrait) }

    package static func authenticationCode(of bytes: [UInt8], with key: [UInt8]) -> [UInt8] {
        preconditionFailure(Self.missingTrait)
    }
}
#endif

extension CryptoDigest {
    /// Returns the digest of the bytes.
    package func digest(of bytes: some ContiguousBytes) -> [UInt8] {
        var hasher = self.makeHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finalize()
    }

    /// Checks that this build can compute digests.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` without the trait `Crypto`.
    package static func requireTrait(for purpose: String) throws(BlobError) {
        guard self.all.isEmpty else { return }
        throw BlobError(
            .unavailable, "\(purpose) needs the trait Crypto of the package BlobStreams, which is not enabled.",
            isTransient: false)
    }
}
