import BlobCore
import BlobPlatform

#if Crypto
import Crypto
import CryptoExtras
#endif

/// The encryption of a stream: AES-256 in CBC mode, with a key derived from a password by SHA-256 (method 06 F1 07 01).
struct SevenZipEncryption {
    /// The maximum base-2 logarithm of the number of rounds, each of which hashes the salt, the password and a counter.
    ///
    /// 2^24 rounds take a few seconds; 7-Zip uses 2^19.
    static let maximumCycles: UInt8 = 24

    /// The length of a block in bytes.
    static let blockByteCount = 16

    /// The value of ``cycles`` that disables hashing.
    private static let unhashedKeyMark: UInt8 = 0x3F

    /// The base-2 logarithm of the number of rounds.
    private let cycles: UInt8
    private let salt: [UInt8]
    /// The initialization vector of CBC: 16 bytes.
    let initialVector: [UInt8]

    /// - Parameter properties: The properties of the coder: the number of rounds and two flags, the lengths of the salt
    ///   and the vector, and then both.
    init?(_ properties: [UInt8]) {
        guard let first = properties.first else { return nil }
        self.cycles = first & 0x3F
        guard first & 0xC0 != 0 else {
            (self.salt, self.initialVector) = ([], [UInt8](repeating: 0, count: Self.blockByteCount))
            return
        }
        guard properties.count >= 2 else { return nil }
        let saltCount = Int(first >> 7 & 1) + Int(properties[1] >> 4)
        let vectorCount = Int(first >> 6 & 1) + Int(properties[1] & 0x0F)
        guard properties.count == 2 + saltCount + vectorCount, vectorCount <= Self.blockByteCount else { return nil }
        self.salt = Array(properties[2..<(2 + saltCount)])
        let vector = properties[(2 + saltCount)...]
        self.initialVector = vector + [UInt8](repeating: 0, count: Self.blockByteCount - vector.count)
    }

    /// The values from which a key is derived.
    struct Secret: Hashable {
        fileprivate let cycles: UInt8
        fileprivate let salt: [UInt8]
        /// The password in little-endian UTF-16.
        fileprivate let password: [UInt8]
    }

    func secret(_ password: String) -> Secret {
        Secret(
            cycles: self.cycles, salt: self.salt,
            password: password.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
    }
}

extension SevenZipEncryption.Secret {
    /// The number of bytes to hash between two checks for cancellation.
    private static let batchByteCount = 1 << 16

    /// Derives the key.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` for more than 2^24 rounds; the errors thrown by
    ///   ``BlobContext/check()``.
    /// - Complexity: O(2^cycles); 2^19 rounds take about 0.1 seconds.
    func makeKey(_ context: BlobContext) throws(BlobError) -> SevenZipKey {
        #if Crypto
        guard self.cycles != SevenZipEncryption.unhashedKeyMark else {
            let padded = self.salt + self.password + [UInt8](repeating: 0, count: 32)
            return SevenZipKey(data: padded.prefix(32))
        }
        guard self.cycles <= SevenZipEncryption.maximumCycles else {
            throw BlobError(
                .limitExceeded,
                "Deriving the key of the 7z archive takes 2^\(self.cycles) rounds, "
                    + "more than the limit of 2^\(SevenZipEncryption.maximumCycles)."
            )
        }
        var hash = SHA256()
        let round = self.salt + self.password
        let roundByteCount = round.count + MemoryLayout<UInt64>.size
        let batchCount = max(1, min(Self.batchByteCount / roundByteCount, 1 << Int(self.cycles)))
        var batch = [UInt8](repeating: 0, count: batchCount * roundByteCount)
        for place in 0..<batchCount {
            batch.replaceSubrange(place * roundByteCount..<place * roundByteCount + round.count, with: round)
        }
        var counter: UInt64 = 0
        let end = UInt64(1) << UInt64(self.cycles)
        while counter < end {
            try context.check()
            let count = Int(min(UInt64(batchCount), end - counter))
            batch.withUnsafeMutableBytes { batch in
                for place in 0..<count {
                    batch.storeBytes(
                        of: (counter + UInt64(place)).littleEndian,
                        toByteOffset: place * roundByteCount + round.count, as: UInt64.self)
                }
                hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: batch[..<(count * roundByteCount)]))
            }
            counter += UInt64(count)
        }
        return SevenZipKey(data: hash.finalize())
        #else
        throw .missingCryptoError
        #endif
    }
}

#if Crypto
/// A key of AES-256.
typealias SevenZipKey = SymmetricKey
#else
/// A key of AES-256; never created without swift-crypto.
struct SevenZipKey: Sendable {}

extension BlobError {
    fileprivate static let missingCryptoError = BlobError(
        .unsupported, "An encrypted 7z archive needs the trait Crypto of the package BlobStreams, which is not enabled."
    )
}
#endif

/// The keys of one archive.
///
/// Deriving a key takes about 0.1 seconds, so the keys are cached as long as the archive is used.
final class SevenZipKeys: Sendable {
    private struct State {
        var keys: [SevenZipEncryption.Secret: SevenZipKey] = [:]
        /// The secrets that decrypted bytes whose checksum matched.
        var verifiedSecrets: Set<SevenZipEncryption.Secret> = []
    }

    /// The maximum number of cached keys.
    private static let maximumCount = 64

    private let state = Locked(State())

    /// Returns the key for an encryption, and the secret from which it was derived.
    ///
    /// - Throws: ``BlobError/Code/encrypted`` without a password; errors requesting the password; the errors thrown by
    ///   ``SevenZipEncryption/Secret/makeKey(_:)``.
    func key(
        _ encryption: SevenZipEncryption, of locator: BlobLocator?, _ context: BlobContext
    ) throws(BlobError) -> (key: SevenZipKey, secret: SevenZipEncryption.Secret) {
        let password = try context.password(of: locator, for: "This archive")
        let secret = encryption.secret(password)
        if let key = self.state.withLock({ $0.keys[secret] }) { return (key, secret) }
        let key = try secret.makeKey(context)
        self.state.withLock { state in
            if state.keys.count >= Self.maximumCount { state = State() }
            state.keys[secret] = key
        }
        return (key, secret)
    }

    /// Records that secrets are correct.
    func markVerified(_ secrets: [SevenZipEncryption.Secret]) {
        self.state.withLock { $0.verifiedSecrets.formUnion(secrets) }
    }

    /// Returns true if secrets are known to be correct.
    func areVerified(_ secrets: [SevenZipEncryption.Secret]) -> Bool {
        self.state.withLock { $0.verifiedSecrets.isSuperset(of: secrets) }
    }
}

/// The content of an encrypted packed stream of a 7z.
///
/// A source that is opened at an offset is decrypted only from the block at that offset.
struct DecryptedSource: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let byteCount: Int64
    private let key: SevenZipKey
    private let initialVector: [UInt8]

    /// - Parameters:
    ///   - base: The encrypted bytes.
    ///   - packedByteCount: The number of encrypted bytes.
    ///   - byteCount: The length of the content, which the base stores in whole blocks.
    /// - Returns: Nil if the base is too short for the content.
    init?(
        _ base: any BlobInputStreamDataSource, packedByteCount: UInt64, byteCount: UInt64, _ key: SevenZipKey,
        _ initialVector: [UInt8]
    ) {
        let blocks =
            packedByteCount / UInt64(SevenZipEncryption.blockByteCount) * UInt64(SevenZipEncryption.blockByteCount)
        guard byteCount <= blocks, let byteCount = Int64(exactly: byteCount) else { return nil }
        (self.base, self.byteCount, self.key, self.initialVector) = (base, byteCount, key, initialVector)
    }

    var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        self.decryption(from: 0).info(of: try self.base.info(context))
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try BlobInfo(byteCount: self.byteCount).check(byteOffset: opening.byteOffset, matching: nil)
        let blockByteCount = Int64(SevenZipEncryption.blockByteCount)
        // Decrypting a block needs the encrypted block before it.
        let start = max(0, opening.byteOffset / blockByteCount - 1) * blockByteCount
        let base = try self.base.open(at: start, matching: opening.validator, context: opening.context)
        return .transform(base, self.decryption(from: start), startingAt: start)
    }

    private func decryption(from byteOffset: Int64) -> Decryption {
        Decryption(
            key: self.key, byteCount: self.byteCount, byteOffset: byteOffset, previous: self.initialVector)
    }
}

/// Decrypts whole blocks, and discards the padding after the content.
private struct Decryption: BlobTransform {
    let key: SevenZipKey
    let byteCount: Int64
    /// The offset of the next byte.
    var byteOffset: Int64
    /// The encrypted block before the next byte.
    var previous: [UInt8]

    /// Returns the info of the content; its validator omits the key, because the source exists only as long as the
    /// reader of a folder.
    func info(of base: BlobInfo) -> BlobInfo {
        BlobInfo(byteCount: self.byteCount, validator: base.validator, isRandomAccess: base.isRandomAccess)
    }

    mutating func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep {
        let rest = Int(clamping: self.byteCount - self.byteOffset)
        guard rest > 0 else {
            input = RawSpan()
            return isLast ? .end : .needsInput
        }
        let count =
            min(input.byteCount, output.freeCapacity) / SevenZipEncryption.blockByteCount
            * SevenZipEncryption.blockByteCount
        guard count > 0 else {
            guard isLast else { return .needsInput }
            throw BlobError(
                .truncated, "The encrypted data ends too early.", byteOffset: self.byteOffset + Int64(input.byteCount))
        }
        let blocks = input.extracting(first: count)
        #if Crypto
        let plain = try blocks.withUnsafeBytes {
            try AES._CBC.decrypt($0, using: self.key, iv: AES._CBC.IV(ivBytes: self.previous), noPadding: true)
        }
        #else
        let plain: [UInt8] = try { throw BlobError.missingCryptoError }()
        #endif
        plain.prefix(rest).withUnsafeBytes { _ = output.append(contentsOf: $0) }
        self.previous = blocks.extracting(last: SevenZipEncryption.blockByteCount).withUnsafeBytes { Array($0) }
        input = input.extracting(droppingFirst: count)
        self.byteOffset += Int64(count)
        return input.byteCount < SevenZipEncryption.blockByteCount ? .needsInput : .full
    }
}
