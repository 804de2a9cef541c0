import BlobCore
import BlobPlatform
import HelperExchange

extension ArchiveEntry {
    /// Creates the entry of a header that libarchive read.
    ///
    /// - Parameter previous: The entry before it; nil for the first one.
    init(_ entry: ExchangedEntry, after previous: ArchiveEntry?) {
        let index = previous.map { $0.member.index + 1 } ?? 0
        let warning = entry.facts.contains(.warning) ? String(decoding: entry.warning, as: UTF8.self) : nil
        let kind: BlobMember.Kind =
            // The values of AE_IFMT, AE_IFREG and so on in archive_entry.h, which may differ from the system's.
            switch entry.mode & 0o170000 {
            case _ where entry.facts.contains(.hardLink): .hardLink
            case 0o100000, 0: .file
            case 0o040000: .directory
            case 0o120000: .symbolicLink
            default: .special
            }
        let isSized = entry.facts.contains(.byteCount) && (kind == .file || kind == .hardLink)
        let isLink = !entry.facts.isDisjoint(with: [.hardLink, .symbolicLink])
        let member = BlobMember(
            index: index, name: entry.name, kind: kind,
            specialKind: kind == .special ? BlobMember.SpecialKind(mode: UInt32(entry.mode)) : nil,
            byteCount: isSized ? max(0, entry.byteCount) : nil,
            modificationTime: entry.facts.contains(.time)
                ? Date(seconds: entry.seconds, nanoseconds: entry.nanoseconds) : nil,
            permissions: UInt16(entry.mode & 0o7777), linkTarget: isLink ? entry.target : nil,
            isEncrypted: entry.facts.contains(.isEncrypted))
        self.init(member: member, warning: warning, linkCount: entry.linkCount)
        self.gap = previous?.gap
        if self.gap == nil, let warning, warning.holds("kipped") {
            self.gap = BlobError(.corrupted, "The archive is damaged before its member \(index): \(warning).")
        }
    }
}
