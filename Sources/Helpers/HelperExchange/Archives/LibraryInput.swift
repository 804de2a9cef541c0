internal import CArchive

/// The bytes that libarchive reads through callbacks, and the current offset in the archive.
package final class LibraryInput {
    /// The offset in the archive of the next byte to read.
    package var byteOffset: Int64 = 0
    /// The length of the archive; nil if its bytes can only be read in sequence.
    package let byteCount: Int64?
    private var read: () -> UnsafeRawBufferPointer? = { nil }

    /// Joins the blocks in which a header begins and ends, for WARC; nil for other formats.
    private let headers: HeaderJoiner?

    /// - Parameter format: The name of the format.
    package init(byteCount: Int64?, format: String) {
        self.byteCount = byteCount
        self.headers = format == "warc" ? HeaderJoiner() : nil
    }

    /// Registers the callbacks, which hold an unowned reference to this object.
    ///
    /// - Parameter read: A closure that returns the next bytes, which stay valid until the next call, and advances past
    ///   them; returns an empty buffer at the end, and nil on failure.
    package func connect(to archive: OpaquePointer, _ read: @escaping () -> UnsafeRawBufferPointer?) {
        self.read = read
        blob_archive_read_set_callback_data(archive, Unmanaged.passUnretained(self).toOpaque())
        blob_archive_read_set_read_callback(archive) { _, client, bytes in
            let input = LibraryInput.input(of: client)
            guard let read = input.headers.map({ $0.next(input.read) }) ?? input.read() else {
                return Int(ARCHIVE_FATAL)
            }
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
        self.takeBackHeldBytes()
        let skipped = max(0, min(byteCount, end - self.byteOffset))
        self.byteOffset += skipped
        return skipped
    }

    private func seek(_ distance: Int64, _ whence: CInt) -> Int64? {
        guard let end = self.byteCount else { return nil }
        self.takeBackHeldBytes()
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

    /// Moves back to the next byte for libarchive, if later bytes were read.
    private func takeBackHeldBytes() { self.byteOffset -= Int64(self.headers?.takeBack() ?? 0) }
}

/// Joins blocks so that the header of each WARC record is in one block, because libarchive refuses a header that
/// continues in the next one ("Bad record header" in its version 3.6.2).
private final class HeaderJoiner {
    /// The length up to which headers are kept whole, in bytes.
    private static let maximumByteCount = 64 * 1024
    private static let (mark, end) = (Array("WARC/".utf8), Array("\r\n\r\n".utf8))

    /// The bytes that were read after the last block.
    private var held: [UInt8] = []
    /// The memory of the last block, which libarchive uses until the next call.
    private var lent = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    deinit { self.lent.deallocate() }

    /// Returns the next bytes, which stay valid until the next call; an empty buffer at the end, nil on failure.
    func next(_ read: () -> UnsafeRawBufferPointer?) -> UnsafeRawBufferPointer? {
        guard let first = read() else { return nil }
        // Most blocks end within content, and are not copied.
        if self.held.isEmpty, Self.countBeforePartialHeader(first) == first.count { return first }
        var bytes = self.held + first
        var count = first.isEmpty ? bytes.count : bytes.withUnsafeBytes(Self.countBeforePartialHeader)
        while count == 0, !bytes.isEmpty {
            guard let more = read() else { return nil }
            bytes += more
            count = more.isEmpty ? bytes.count : bytes.withUnsafeBytes(Self.countBeforePartialHeader)
        }
        self.held = Array(bytes[count...])
        self.lent.deallocate()
        self.lent = .allocate(byteCount: count, alignment: 1)
        self.lent.copyBytes(from: bytes[..<count])
        return UnsafeRawBufferPointer(self.lent)
    }

    /// Forgets the bytes after the last block; returns their number.
    func takeBack() -> Int {
        defer { self.held = [] }
        return self.held.count
    }

    /// Returns the length of the part that ends with a complete header: the bytes before an incomplete last header, or
    /// all bytes.
    private static func countBeforePartialHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
        let first = max(0, bytes.count - self.maximumByteCount)
        if let start = (first..<bytes.count).last(where: { bytes[$0...].starts(with: self.mark) }),
            !(start..<bytes.count).contains(where: { bytes[$0...].starts(with: self.end) })
        {
            return start
        }
        // The last bytes may be the beginning of the mark.
        for count in 1..<self.mark.count where bytes.suffix(count).elementsEqual(self.mark.prefix(count)) {
            return bytes.count - count
        }
        return bytes.count
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
