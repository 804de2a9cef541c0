internal import CArchive

/// The bytes that libarchive reads through callbacks, and the current offset in the archive.
package final class LibraryInput {
    /// The offset in the archive of the next byte for libarchive.
    package var byteOffset: Int64 = 0
    /// The length of the archive; nil if its bytes can only be read in sequence.
    package let byteCount: Int64?
    private var read: () -> UnsafeRawBufferPointer? = { nil }

    package init(byteCount: Int64?) { self.byteCount = byteCount }

    /// Registers the callbacks, which hold an unowned reference to this object.
    ///
    /// - Parameter read: A closure that returns the next bytes, which stay valid until the next call, and advances past
    ///   them; returns an empty buffer at the end, and nil on failure.
    package func connect(to archive: OpaquePointer, _ read: @escaping () -> UnsafeRawBufferPointer?) {
        self.read = read
        blob_archive_read_set_callback_data(archive, Unmanaged.passUnretained(self).toOpaque())
        blob_archive_read_set_read_callback(archive) { _, client, bytes in
            guard let read = LibraryInput.input(of: client).read() else { return Int(ARCHIVE_FATAL) }
            bytes?.pointee = read.baseAddress
            return read.count
        }
        guard self.byteCount != nil else { return }
        blob_archive_read_set_skip_callback(archive) { _, client, byteCount in
            LibraryInput.input(of: client).skip(byteCount)
        }
        blob_archive_read_set_seek_callback(archive) { _, client, distance, whence in
            LibraryInput.input(of: client).seek(distance, whence) ?? Int64(ARCHIVE_FATAL)
        }
    }

    private static func input(of client: UnsafeMutableRawPointer?) -> LibraryInput {
        guard let client else { preconditionFailure("libarchive must pass on the pointer that it was given.") }
        return Unmanaged<LibraryInput>.fromOpaque(client).takeUnretainedValue()
    }

    /// Moves to the beginning of the archive; returns false without random access.
    package func rewind() -> Bool { self.seek(0, SEEK_SET) != nil }

    private func skip(_ byteCount: Int64) -> Int64 {
        guard let end = self.byteCount else { return 0 }
        let skipped = max(0, min(byteCount, end - self.byteOffset))
        self.byteOffset += skipped
        return skipped
    }

    private func seek(_ distance: Int64, _ whence: CInt) -> Int64? {
        guard let end = self.byteCount else { return nil }
        let origin =
            switch whence {
            case SEEK_SET: Int64(0)
            case SEEK_CUR: self.byteOffset
            default: end
            }
        let (target, overflows) = origin.addingReportingOverflow(distance)
        guard !overflows, target >= 0 else { return nil }
        self.byteOffset = target
        return target
    }
}

/// Enables one format of archives in libarchive.
///
/// For zip, libarchive receives individual members whose local headers agreed with the central directory, and does not
/// verify their checksums.
///
/// - Parameter name: The name of the format, which is its scheme in locators.
/// - Returns: `ARCHIVE_OK`; `ARCHIVE_WARN` if libarchive would start a program instead.
package func enableFormat(_ name: String, in archive: OpaquePointer) -> CInt {
    switch name {
    case "tar": blob_archive_read_support_format_tar(archive)
    case "zip":
        min(
            blob_archive_read_support_format_zip_streamable(archive),
            blob_archive_read_set_format_option(archive, "zip", "ignorecrc32", "1"))
    case "sevenzip": blob_archive_read_support_format_7zip(archive)
    case "cpio": blob_archive_read_support_format_cpio(archive)
    case "ar": blob_archive_read_support_format_ar(archive)
    case "iso": blob_archive_read_support_format_iso9660(archive)
    case "rar": min(blob_archive_read_support_format_rar(archive), blob_archive_read_support_format_rar5(archive))
    case "cab": blob_archive_read_support_format_cab(archive)
    case "xar": blob_archive_read_support_format_xar(archive)
    case "lha": blob_archive_read_support_format_lha(archive)
    case "warc": blob_archive_read_support_format_warc(archive)
    default: CInt(ARCHIVE_FATAL)
    }
}
