/// A digest algorithm, by which hash functions of other libraries are plugged in.
///
/// ```swift
/// struct Adler32: BlobDigest {
///     let name = "adler32"
///     func makeHasher() -> any BlobHasher { Sums() }
///
///     struct Sums: BlobHasher {
///         private var (a, b) = (UInt32(1), UInt32(0))
///
///         mutating func update(_ bytes: UnsafeRawBufferPointer) {
///             for byte in bytes {
///                 self.a = (self.a + UInt32(byte)) % 65521
///                 self.b = (self.b + self.a) % 65521
///             }
///         }
///
///         mutating func finalize() -> [UInt8] {
///             [UInt8(self.b >> 8), UInt8(self.b & 0xFF), UInt8(self.a >> 8), UInt8(self.a & 0xFF)]
///         }
///     }
/// }
/// ```
public protocol BlobDigest: Sendable {
    /// The name for commands and people: `sha256`.
    var name: String { get }

    /// Starts a computation.
    func makeHasher() -> any BlobHasher
}

/// One computation of a ``BlobDigest``.
public protocol BlobHasher {
    /// Adds the next bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer)

    /// Returns the digest of all bytes. Must be the last call.
    mutating func finalize() -> [UInt8]
}

extension BlobHasher {
    /// Returns the digest of all bytes as lower-case hexadecimal digits, two for each byte. Must be the last call.
    public mutating func finalizeHexadecimal() -> String { self.finalize().hexadecimal }
}

extension [UInt8] {
    /// The bytes as text, with two lower-case hexadecimal digits for each.
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
