import ArchiveExchange
import BlobCore
import BlobPlatform

extension ArchiveEntry {
    /// Creates the entry of a header that libarchive read.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when libarchive passed over bytes in search of the header: there may have
    ///   been other members.
    init(_ entry: ExchangedEntry, index: Int) throws(BlobError) {
        let warning = entry.facts.contains(.warning) ? String(decoding: entry.warning, as: UTF8.self) : nil
        if let warning, warning.holds("kipped") {
            throw BlobError(.corrupted, "The archive is damaged before its member \(index): \(warning).")
        }
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
    }
}
