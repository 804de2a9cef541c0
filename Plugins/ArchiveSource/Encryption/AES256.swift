import CAES

/// AES-256, for the decryption of a 7z in CBC mode. A value that is never changed.
struct AES256 {
    /// The length of a block in bytes.
    static let blockByteCount = 16

    private var roundKeys = blob_aes256()

    /// - Parameter key: 32 bytes.
    init(key: some Sequence<UInt8>) {
        let key = Array(key)
        precondition(key.count == 32, "The key of AES-256 has 32 bytes.")
        blob_aes256_prepare(&self.roundKeys, key)
    }

    /// Decrypts blocks in place.
    ///
    /// - Parameters:
    ///   - blocks: The encrypted bytes; of a last part of a block, nothing is decrypted.
    ///   - previous: The encrypted block before the first one, which becomes the last encrypted block.
    ///   - isPortable: True to do without the instructions of the processor.
    func decrypt(_ blocks: UnsafeMutableRawBufferPointer, after previous: inout [UInt8], isPortable: Bool = false) {
        let count = blocks.count / Self.blockByteCount
        withUnsafePointer(to: self.roundKeys) { roundKeys in
            blob_aes256_cbc_decrypt(
                roundKeys, &previous, blocks.baseAddress?.assumingMemoryBound(to: UInt8.self), count, isPortable ? 1 : 0
            )
        }
    }
}
