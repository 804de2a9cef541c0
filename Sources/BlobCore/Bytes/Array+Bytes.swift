extension [UInt8] {
    /// Calls `withUnsafeBytes(_:)` with a body that throws a ``BlobError``.
    package func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(BlobError) -> Result
    ) throws(BlobError) -> Result {
        do { return try self.withUnsafeBytes(body) } catch { throw BlobError(wrapping: error) }
    }

    /// Calls `withUnsafeMutableBytes(_:)` with a body that throws a ``BlobError``.
    package mutating func withMutableBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws(BlobError) -> Result
    ) throws(BlobError) -> Result {
        do { return try self.withUnsafeMutableBytes(body) } catch { throw BlobError(wrapping: error) }
    }

    /// The bytes as text, with two lower-case hexadecimal digits per byte.
    package var hexadecimal: String {
        let digits = Self.digits.utf8Start
        return String(unsafeUninitializedCapacity: self.count * 2) { text in
            for (index, byte) in self.enumerated() {
                text[index * 2] = digits[Int(byte >> 4)]
                text[index * 2 + 1] = digits[Int(byte & 0xF)]
            }
            return self.count * 2
        }
    }

    private static var digits: StaticString { "0123456789abcdef" }
}

extension RangeReplaceableCollection<UInt8> {
    /// Creates the bytes from pairs of hexadecimal digits; returns nil for any other text.
    package init?(hexadecimal digits: some Collection<UInt8>) {
        let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard values.count == digits.count, values.count.isMultiple(of: 2) else { return nil }
        self.init(stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) })
    }
}
