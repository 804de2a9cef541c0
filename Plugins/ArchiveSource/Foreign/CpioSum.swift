/// The check of the sum of a member of a cpio: the format `070702` has in its header the sum of the member's bytes,
/// modulo 2^32 (cpio of SVR4, "crc").
struct CpioSum {
    /// The length of a header without the name, in bytes.
    static let headerByteCount: Int64 = 110

    private static let magic = Array("070702".utf8)
    /// The field of the length of the bytes, and that of their sum: 8 hexadecimal digits each.
    private static let (byteCountField, sumField) = (54..<62, 102..<110)

    let expected: UInt32
    private(set) var value: UInt32 = 0

    /// - Returns: Nil when the header is of another format, or the member has no bytes: only the last of several names
    ///   for a file has them.
    init?(header: [UInt8]) {
        guard header.count == Self.headerByteCount, header.starts(with: Self.magic),
            let byteCount = UInt32(String(decoding: header[Self.byteCountField], as: UTF8.self), radix: 16),
            let sum = UInt32(String(decoding: header[Self.sumField], as: UTF8.self), radix: 16), byteCount > 0
        else { return nil }
        self.expected = sum
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { self.value &+= UInt32(byte) }
    }
}
