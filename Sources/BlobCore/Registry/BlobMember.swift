public import BlobPlatform

/// One line of the listing of a ``BlobContainer``.
public struct BlobMember: Hashable, Sendable {
    /// What a member is.
    public enum Kind: Hashable, Sendable {
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
    package var printableName: String { Self.printable(self.name) }

    /// As ``printableName``, of any bytes.
    package static func printable(_ name: [UInt8]) -> String {
        // Most names are plain, and a container may have millions of them.
        if name.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && !Self.marks.contains($0) }) && name.first != Self.at {
            return String(decoding: name, as: UTF8.self)
        }
        var text = ""
        var rest = name[...]
        var (iterator, parser) = (name.makeIterator(), Unicode.UTF8.ForwardParser())
        while true {
            let character: Unicode.Scalar?
            let byteCount: Int
            switch parser.parseScalar(from: &iterator) {
            case .valid(let bytes): (character, byteCount) = (Unicode.UTF8.decode(bytes), bytes.count)
            case .error(let length): (character, byteCount) = (nil, length)
            case .emptyInput: return text
            }
            let isMark = rest.first.map { Self.marks.contains($0) || $0 == Self.at && text.isEmpty } ?? false
            if let character, character.isPrintable, !isMark {
                text.unicodeScalars.append(character)
            } else {
                text += PercentEncoding.encode(rest.prefix(byteCount), leaving: [])
            }
            rest = rest.dropFirst(byteCount)
        }
    }

    private static let marks = Array("%!#".utf8)
    private static let at = UInt8(ascii: "@")
}
