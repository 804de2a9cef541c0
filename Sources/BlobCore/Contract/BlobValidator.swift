/// The identity of a blob's content at one moment, for comparison with that of a later one.
public struct BlobValidator: Hashable, Sendable {
    /// True when the same token means the same bytes, as with a digest or an ETag. Otherwise it means the same bytes in
    /// all likelihood, as with the size and the times of a file.
    public let isStrong: Bool

    /// The text that is compared.
    public let token: String

    /// Returns a validator whose token is the same for the same bytes only.
    public static func strong(_ token: String) -> Self { Self(isStrong: true, token: token) }

    /// Returns a validator whose token is the same for the same bytes in all likelihood.
    public static func weak(_ token: String) -> Self { Self(isStrong: false, token: token) }

    /// Returns the identity of content made of `parts` in the way that `recipe` names; strong when all parts are.
    ///
    /// For sources that are built on others.
    public static func combined(_ recipe: String, _ parts: [BlobValidator]) -> Self {
        // With its length before it, no part can be taken for two, whatever a server puts into it.
        var text = recipe + "(" + parts.map { "\($0.text.utf8.count):\($0.text)" }.joined(separator: ",") + ")"
        if parts.allSatisfy(\.isStrong) { return .strong(text) }
        // The token of a weak identity stays short, however many parts there are: two independent 64-bit hashes.
        return text.withUTF8 { bytes in
            .weak("\(bytes.count)-\(Int64(bitPattern: bytes.fnv1a))-\(bytes.reversed().fnv1a)")
        }
    }

    /// The strength and the token in one word, for people, logs and index files.
    package var text: String { "\(self.isStrong ? "strong" : "weak"):\(self.token)" }
}

extension Sequence<UInt8> {
    /// FNV-1a, 64 bits: draft-eastlake-fnv, offset basis and prime of section 5.
    package var fnv1a: UInt64 { self.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } }
}
