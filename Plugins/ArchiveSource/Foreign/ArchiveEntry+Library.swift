import BlobCore
import BlobPlatform
import CArchive

extension ArchiveEntry {
    init(_ entry: OpaquePointer, index: Int, warning: String?) {
        let hardLink = bytes(blob_archive_entry_hardlink(entry))
        let mode = UInt32(blob_archive_entry_mode(entry))
        let kind: BlobMember.Kind =
            // The values of AE_IFMT, AE_IFREG and so on in archive_entry.h, which may differ from the system's.
            switch mode & 0o170000 {
            case _ where hardLink != nil: .hardLink
            case 0o100000, 0: .file
            case 0o040000: .directory
            case 0o120000: .symbolicLink
            default: .special
            }
        let isSized = blob_archive_entry_size_is_set(entry) != 0 && (kind == .file || kind == .hardLink)
        let time =
            blob_archive_entry_mtime_is_set(entry) != 0
            ? Date(
                seconds: Int64(blob_archive_entry_mtime(entry)),
                nanoseconds: Int64(blob_archive_entry_mtime_nsec(entry)))
            : nil
        self.member = BlobMember(
            index: index,
            name: bytes(blob_archive_entry_pathname(entry) ?? blob_archive_entry_pathname_utf8(entry)) ?? [],
            kind: kind, byteCount: isSized ? max(0, blob_archive_entry_size(entry)) : nil, modificationTime: time,
            permissions: UInt16(mode & 0o7777), linkTarget: hardLink ?? bytes(blob_archive_entry_symlink(entry)),
            isEncrypted: blob_archive_entry_is_encrypted(entry) != 0)
        self.warning = warning
        self.linkCount = UInt32(clamping: blob_archive_entry_nlink(entry))
    }
}

private func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8]? {
    text.map { UnsafeRawBufferPointer(start: $0, count: strlen($0)).map { $0 } }
}
