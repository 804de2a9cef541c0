import Foundation

/// One line of the listing of a ``BlobContainer``.
public struct BlobMember: Hashable, Sendable {
    /// What a member is.
    public enum Kind: String, Sendable {
        /// Bytes that can be read.
        case file
        /// A folder; has no bytes.
        case directory
        /// The name of something else; has no bytes of its own.
        case symbolicLink
        /// Another name of an earlier member, whose bytes it stands for.
        case hardLink
        /// A device, a FIFO, a socket; has no bytes.
        case special
    }

    /// The place in the container's order, from 0: the member is `@N` in a locator.
    public var index: Int

    /// The name as the container has it: bytes, not necessarily UTF-8, not necessarily unique, and no path to write to.
    public var name: [UInt8]

    /// What it is.
    public var kind: Kind

    /// The length in bytes, from 0; nil when the container does not tell before the end, and for what has none.
    public var byteCount: Int64?

    /// The time of the last modification; nil when the container does not tell.
    public var modificationTime: Date?

    /// The permissions, twelve bits as in `chmod(2)`; nil when the container does not tell.
    public var permissions: UInt16?

    /// The checksum of the bytes that the container lists, as `crc32:1a2b3c4d`; nil when there is none.
    public var checksum: String?

    /// What a link leads to, as the container has it; nil for others.
    public var linkTarget: [UInt8]?

    /// Whether reading it is ``BlobError/Code/encrypted``.
    public var isEncrypted: Bool

    /// Creates a member; what is left out is unknown.
    public init(
        index: Int, name: [UInt8], kind: Kind = .file, byteCount: Int64? = nil, modificationTime: Date? = nil,
        permissions: UInt16? = nil, checksum: String? = nil, linkTarget: [UInt8]? = nil, isEncrypted: Bool = false
    ) {
        self.index = index
        self.name = name
        self.kind = kind
        self.byteCount = byteCount
        self.modificationTime = modificationTime
        self.permissions = permissions
        self.checksum = checksum
        self.linkTarget = linkTarget
        self.isEncrypted = isEncrypted
    }
}

extension BlobMember {
    /// The name on one line, for people, in a form that is accepted back where people write locators.
    ///
    /// Readable as it is, but for control characters, `%`, bytes that are no UTF-8, `!`, `#` and a leading `@`, which
    /// are `%XX`.
    public var printableName: String { Self.printable(self.name) }

    /// As ``printableName``, of any bytes.
    package static func printable(_ name: [UInt8]) -> String {
        if name.allSatisfy(Self.isPlain) && name.first != UInt8(ascii: "@") {
            return String(decoding: name, as: UTF8.self)
        }
        var text = ""
        for (character, bytes) in PrintableScalars(bytes: name[...]) {
            switch character {
            case nil, "%", "!", "#": text += PercentEncoding.encode(bytes, leaving: [])
            case "@" where text.isEmpty: text += "%40"
            case let character? where !character.isPrintable: text += PercentEncoding.encode(bytes, leaving: [])
            case let character?: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}

extension BlobMember {
    /// Whether a byte is a character of ASCII that stands for itself in ``printableName``.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "%"), UInt8(ascii: "!"), UInt8(ascii: "#"): false
        case 0x20...0x7E: true
        default: false
        }
    }
}

/// The characters of a name with their bytes; a byte that is no part of one comes alone, with nil.
private struct PrintableScalars: Sequence, IteratorProtocol {
    var bytes: ArraySlice<UInt8>

    mutating func next() -> (Unicode.Scalar?, ArraySlice<UInt8>)? {
        guard !self.bytes.isEmpty else { return nil }
        for length in 1...4 where length <= self.bytes.count {
            let candidate = self.bytes.prefix(length)
            guard let text = String(validating: candidate, as: UTF8.self) else { continue }
            self.bytes = self.bytes.dropFirst(length)
            return (text.unicodeScalars.first, candidate)
        }
        defer { self.bytes = self.bytes.dropFirst() }
        return (nil, self.bytes.prefix(1))
    }
}
