/// The identity of a blob's content at one moment, to be compared with that of a later one.
public enum BlobValidator: Hashable, Sendable {
    /// The same text means the same bytes: a digest, an ETag.
    case strong(String)

    /// Means the same bytes in all likelihood: size in bytes, time of modification in nanoseconds since 1970, inode.
    case weak(byteCount: Int64, modificationTime: Int64, inode: UInt64)

    /// The identity of something made of `parts` in the way that `recipe` says; strong only if all parts are.
    ///
    /// For sources that stand on others. The numbers of a combined weak identity are hashes; only equality counts.
    public static func combined(_ recipe: String, _ parts: [BlobValidator]) -> BlobValidator {
        let text = recipe + "(" + parts.map(\.text).joined(separator: ",") + ")"
        if parts.allSatisfy(\.isStrong) { return .strong(text) }
        // Two independent 64-bit FNV-1a hashes stand in for the parts; a weak identity has no room for more.
        return .weak(
            byteCount: Int64(text.utf8.count), modificationTime: Int64(bitPattern: fnv1a(text.utf8)),
            inode: fnv1a(text.utf8.reversed()))
    }

    /// True for ``strong(_:)``.
    public var isStrong: Bool {
        if case .strong = self { true } else { false }
    }

    /// One word for people and logs.
    public var text: String {
        switch self {
        case .strong(let text): "strong:\(text)"
        case .weak(let byteCount, let modificationTime, let inode): "weak:\(byteCount)-\(modificationTime)-\(inode)"
        }
    }
}

/// FNV-1a, 64 bits: draft-eastlake-fnv, offset basis and prime of section 5.
private func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
}
