/// A hash of bytes that come in pieces of any length, which tells other bytes in all likelihood. No protection against
/// intent.
///
/// FNV-1a (draft-eastlake-fnv, offset basis and prime of section 5) of words instead of bytes, with a shift that
/// carries the high bits of a word to the low ones: some gigabytes a second.
struct RunningHash: Equatable {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325
    /// The bytes of a word that is not whole yet.
    private var rest: UInt64 = 0
    private var restCount: UInt64 = 0

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var bytes = bytes
        while self.restCount > 0, let byte = bytes.first {
            self.append(byte)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        }
        let wordCount = bytes.count / 8
        for index in 0..<wordCount {
            self.append(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self)))
        }
        for byte in bytes[(8 * wordCount)...] { self.append(byte) }
    }

    private mutating func append(_ byte: UInt8) {
        self.rest |= UInt64(byte) << (8 * self.restCount)
        self.restCount += 1
        guard self.restCount == 8 else { return }
        self.append(self.rest)
        (self.rest, self.restCount) = (0, 0)
    }

    private mutating func append(_ word: UInt64) {
        self.value = (self.value ^ word) &* 0x100_0000_01b3
        self.value ^= self.value >> 32
    }
}
