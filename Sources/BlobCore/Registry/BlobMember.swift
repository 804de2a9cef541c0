public import BlobPlatform

/// A member of a ``BlobContainer``, as listed by the container.
public struct BlobMember: Hashable, Sendable {
    /// The kind of a member.
    public enum Kind: Hashable, Sendable {
        /// Bytes that can be read.
        case file
        /// A folder; has no bytes.
        case directory
        /// A link to another name; has no bytes of its own.
        case symbolicLink
        /// Another name of an earlier member, whose bytes it shares.
        case hardLink
        /// A device, a FIFO or a socket; has no bytes.
        case special
    }

    /// The kind of a special member.
    public enum SpecialKind: Hashable, Sendable {
        case characterDevice
        case blockDevice
        case fifo
        case socket

        /// Creates a kind from a mode as in `stat(2)`; nil if the mode is of another kind of file.
        package init?(mode: UInt32) {
            switch mode & 0o170000 {
            case 0o020000: self = .characterDevice
            case 0o060000: self = .blockDevice
            case 0o010000: self = .fifo
            case 0o140000: self = .socket
            default: return nil
            }
        }
    }

    /// The index in the container's order, starting at 0. In a locator, `@N` names the member with the index N.
    public var index: Int

    /// The name as stored in the container: bytes, not necessarily UTF-8, not necessarily unique, and not a path to
    /// write to.
    public var name: [UInt8]

    /// The kind of the member.
    public var kind: Kind

    /// The kind of a special member; nil if the container does not state it, and for other members.
    public var specialKind: SpecialKind?

    /// The length in bytes, at least 0; nil if the container does not state it before the end, and for members without
    /// bytes.
    public var byteCount: Int64?

    /// The time of the last modification; nil if the container does not state it.
    public var modificationTime: Date?

    /// The permissions, twelve bits as in `chmod(2)`; nil if the container does not state them.
    public var permissions: UInt16?

    /// The checksum of the bytes as the container lists it, in the form `crc32:1a2b3c4d`; nil if it lists none.
    public var checksum: String?

    /// The target of a link, as stored in the container; nil for other members.
    public var linkTarget: [UInt8]?

    /// True if the bytes are encrypted; without a password, ``BlobContext/password``, reading them throws
    /// ``BlobError/Code/encrypted``.
    public var isEncrypted: Bool

    /// The fault of the header, despite which the rest of the header was read; nil for an intact header, and for
    /// members listed from a stored table, which does not record it. Ignored in comparisons of members.
    package var headerFault: String? {
        get { self.header.fault }
        set { self.header.fault = newValue }
    }

    private var header = HeaderState()

    /// Creates a member; omitted values are unknown.
    public init(
        index: Int, name: [UInt8], kind: Kind = .file, specialKind: SpecialKind? = nil, byteCount: Int64? = nil,
        modificationTime: Date? = nil, permissions: UInt16? = nil, checksum: String? = nil,
        linkTarget: [UInt8]? = nil, isEncrypted: Bool = false
    ) {
        self.index = index
        self.name = name
        self.kind = kind
        self.specialKind = specialKind
        self.byteCount = byteCount
        self.modificationTime = modificationTime
        self.permissions = permissions
        self.checksum = checksum
        self.linkTarget = linkTarget
        self.isEncrypted = isEncrypted
    }

    /// The name on one line, for display, in a form that is accepted wherever users enter locators.
    ///
    /// Encodes only control characters, `%`, bytes that are not UTF-8, `!`, `#` and a leading `@`, which become `%XX`.
    package var printableName: String { Self.printable(self.name) }

    /// Returns the printable form of any bytes; see ``printableName``.
    package static func printable(_ name: [UInt8]) -> String {
        // Most names are plain, and a container may have millions of them.
        if name.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && !Self.marks.contains($0) }) && name.first != Self.atSign {
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
            let isMark = rest.first.map { Self.marks.contains($0) || $0 == Self.atSign && text.isEmpty } ?? false
            if let character, character.isPrintable, !isMark {
                text.unicodeScalars.append(character)
            } else {
                text += PercentEncoding.encode(rest.prefix(byteCount), leaving: [])
            }
            rest = rest.dropFirst(byteCount)
        }
    }

    private static let marks = Array("%!#".utf8)
    private static let atSign = UInt8(ascii: "@")
}

/// The state of a member's header, ignored in comparisons of members: all states are equal.
private struct HeaderState: Hashable, Sendable {
    var fault: String?

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
