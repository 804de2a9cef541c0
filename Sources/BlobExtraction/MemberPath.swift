package import BlobCore

/// The path of a member beneath a folder: names joined by slashes, none of them empty, `.` or `..`.
package struct MemberPath: Hashable, Sendable {
    /// The bytes of the path, without zero bytes and without a slash at either end; empty for the folder itself.
    package let bytes: [UInt8]

    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")
    private static let parentFolderName = Array("..".utf8)
    private static let currentFolderName = Array(".".utf8)

    /// The maximum number of bytes in a path: PATH_MAX of Linux, without the terminating zero.
    private static let maximumByteCount = 4095

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Creates the path of a member from its name, leaving out empty parts and `.`.
    ///
    /// - Parameter isTarget: True if the name is the target of a hard link, for errors.
    /// - Throws: ``BlobError/Code/unsupported`` for a name that is absolute, has `..` as a part, contains a zero byte,
    ///   or is longer than 4095 bytes.
    package init(_ name: [UInt8], isTarget: Bool = false) throws(BlobError) {
        let unsafe = { (fault: String) in
            let what = isTarget ? "The target of this hard link" : "The name of this member"
            return BlobError(.unsupported, "\(what) \(fault), so it is not a path inside the folder.")
        }
        guard !name.contains(0) else { throw unsafe("contains a zero byte") }
        guard name.count <= Self.maximumByteCount else {
            throw unsafe("is longer than \(Self.maximumByteCount) bytes")
        }
        guard name.first != Self.slash else { throw unsafe("is absolute") }
        if Self.isPath(name) {
            self.bytes = name
            return
        }
        let parts = Self.parts(of: name)
        guard !parts.contains(Self.parentFolderName[...]) else { throw unsafe("contains '..' as a component") }
        self.bytes = Array(parts.joined(separator: CollectionOfOne(Self.slash)))
    }

    package func hash(into hasher: inout Hasher) { self.bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// The path of the folder that contains the member; empty for the topmost folder.
    package var folder: MemberPath {
        let end = self.bytes.lastIndex(of: Self.slash) ?? self.bytes.startIndex
        return MemberPath(bytes: Array(self.bytes[..<end]))
    }

    /// The last name of the path.
    package var name: [UInt8] {
        Array(self.bytes[(self.bytes.lastIndex(of: Self.slash).map { $0 + 1 } ?? self.bytes.startIndex)...])
    }

    /// The names of the path, the topmost first.
    package var names: [[UInt8]] { self.bytes.split(separator: Self.slash).map(Array.init) }

    /// Returns true if a symbolic link at this path leads to a place beneath the folder, through any extracted links.
    ///
    /// A link that already existed in the folder may lead out of it; nothing is written through such a link.
    ///
    /// The target must be relative. `..` may occur only at its beginning, where it names folders that contain the link,
    /// which are not links themselves, and at most once for each folder in the link's path.
    package func isLinkBeneath(_ target: [UInt8]) -> Bool {
        guard !target.isEmpty, target.first != Self.slash, !target.contains(0) else { return false }
        let parts = Self.parts(of: target)
        let upward = parts.prefix { $0 == Self.parentFolderName[...] }
        return upward.count < self.names.count && !parts[upward.count...].contains(Self.parentFolderName[...])
    }

    /// Returns the relative target of a link at this path that corresponds to an absolute target in a file system whose
    /// root is the folder; nil if no such link is certain to stay beneath the folder.
    package func relativeTarget(_ target: [UInt8]) -> [UInt8]? {
        guard target.first == Self.slash else { return nil }
        let up = repeatElement(Self.parentFolderName[...], count: max(0, self.names.count - 1))
        let parts = up + Self.parts(of: target)
        let relative =
            parts.isEmpty ? Self.currentFolderName : Array(parts.joined(separator: CollectionOfOne(Self.slash)))
        return self.isLinkBeneath(relative) ? relative : nil
    }

    /// Returns true for a name that is already a path, as most are: no part begins with a dot or is empty.
    private static func isPath(_ name: [UInt8]) -> Bool {
        var previous = Self.slash
        for byte in name {
            if previous == Self.slash, byte == Self.slash || byte == Self.dot { return false }
            previous = byte
        }
        return previous != Self.slash
    }

    private static func parts(of name: [UInt8]) -> [ArraySlice<UInt8>] {
        name.split(separator: self.slash).filter { $0 != self.currentFolderName[...] }
    }
}
