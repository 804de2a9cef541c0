import BlobCore
import Crypto

/// The encryption of a stream: AES-256 in CBC mode, with a key made of a password by SHA-256 (method 06 F1 07 01).
struct SevenZipEncryption {
    /// The number by which a key is derived in as many rounds as the salt, the password and a counter are joined: 2^24
    /// take some seconds, and 7-Zip makes 2^19.
    static let maximumCycles: UInt8 = 24

    /// The number that stands for no hashing.
    private static let plain: UInt8 = 0x3F

    /// The binary logarithm of the number of rounds.
    private let cycles: UInt8
    private let salt: [UInt8]
    /// The block before the first one; 16 bytes.
    let initialVector: [UInt8]

    /// - Parameter properties: The properties of the coder: the number of rounds and two flags, the lengths of the salt
    ///   and the vector, and these.
    init?(_ properties: [UInt8]) {
        guard let first = properties.first else { return nil }
        self.cycles = first & 0x3F
        guard first & 0xC0 != 0 else {
            (self.salt, self.initialVector) = ([], [UInt8](repeating: 0, count: AES256.blockByteCount))
            return
        }
        guard properties.count >= 2 else { return nil }
        let saltCount = Int(first >> 7 & 1) + Int(properties[1] >> 4)
        let vectorCount = Int(first >> 6 & 1) + Int(properties[1] & 0x0F)
        guard properties.count == 2 + saltCount + vectorCount, vectorCount <= AES256.blockByteCount else { return nil }
        self.salt = Array(properties[2..<(2 + saltCount)])
        let vector = properties[(2 + saltCount)...]
        self.initialVector = vector + [UInt8](repeating: 0, count: AES256.blockByteCount - vector.count)
    }

    /// The facts that make a key.
    struct Secret: Hashable {
        fileprivate let cycles: UInt8
        fileprivate let salt: [UInt8]
        /// The password in UTF-16, the lower byte of each unit first.
        fileprivate let password: [UInt8]
    }

    func secret(_ password: String) -> Secret {
        Secret(
            cycles: self.cycles, salt: self.salt,
            password: password.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
    }
}

extension SevenZipEncryption.Secret {
    /// The number of bytes hashed between two checks of the job.
    private static let batchByteCount = 1 << 16

    /// Derives the key.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` for more than 2^24 rounds; the errors of ``BlobContext/check()``.
    /// - Complexity: O(2^cycles); 2^19 rounds take about 0.1 seconds.
    func makeKey(_ context: BlobContext) throws(BlobError) -> AES256 {
        guard self.cycles != SevenZipEncryption.plain else {
            return AES256(key: (self.salt + self.password + [UInt8](repeating: 0, count: 32)).prefix(32))
        }
        guard self.cycles <= SevenZipEncryption.maximumCycles else {
            throw BlobError(
                .limitExceeded,
                "The key of the 7z archive takes 2^\(self.cycles) rounds, "
                    + "the limit is 2^\(SevenZipEncryption.maximumCycles)."
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
        return AES256(key: hash.finalize())
    }
}
