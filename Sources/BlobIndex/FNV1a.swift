/// FNV-1a with 128 bits: draft-eastlake-fnv, offset basis and prime (2^88 + 0x13B) of section 5.
struct FNV1a {
    private var high: UInt64 = 0x6c62_272e_07bb_0142
    private var low: UInt64 = 0x62b8_2175_6295_c58d

    mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            self.low ^= UInt64(byte)
            // Times 0x13B, and times 2^88, which reaches the high half only.
            let product = self.low.multipliedFullWidth(by: 0x13B)
            self.high = self.high &* 0x13B &+ product.high &+ (self.low << 24)
            self.low = product.low
        }
    }

    /// 32 digits.
    var hexadecimal: String { Self.digits(self.high) + Self.digits(self.low) }

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
