/// A 128-bit FNV-1a hash, with the offset basis and the prime (2^88 + 0x13B) of draft-eastlake-fnv, section 5.
struct FNV1a {
    private var high: UInt64 = 0x6c62_272e_07bb_0142
    private var low: UInt64 = 0x62b8_2175_6295_c58d

    mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            self.low ^= UInt64(byte)
            // Multiplies by 0x13B, and by 2^88, which affects the high half only.
            let product = self.low.multipliedFullWidth(by: 0x13B)
            self.high = self.high &* 0x13B &+ product.high &+ (self.low << 24)
            self.low = product.low
        }
    }

    /// The hash as 32 hexadecimal digits.
    var hexadecimal: String { Self.digits(self.high) + Self.digits(self.low) }

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
