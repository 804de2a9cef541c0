import BlobCore
import BlobDeflate

/// The length and the checksum of the bytes of a member that were read, to be compared with its directory.
struct ZipEntrySum {
    private let entry: ZipEntry
    /// True when the length in the directory may be one modulo 2^32.
    private let isWrapped: Bool
    /// The offset in the member after the last byte that was appended.
    private(set) var byteOffset: Int64
    private var checksum = CRC32()

    /// - Parameters:
    ///   - byteOffset: The offset in the member of the first byte that will be appended.
    ///   - isWrapped: True to accept a length that is the one in the directory modulo 2^32.
    init(_ entry: ZipEntry, at byteOffset: Int64 = 0, isWrapped: Bool = false) {
        self.entry = entry
        self.isWrapped = isWrapped
        self.byteOffset = byteOffset
    }

    /// Appends the next bytes.
    ///
    /// - Throws: ``BlobError/Code/sizeMismatch`` if the member then has too many.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        guard self.isWrapped || Int64(bytes.count) <= self.entry.byteCount - self.byteOffset else {
            throw BlobError(
                .sizeMismatch, "The member has more than the \(self.entry.byteCount) bytes that the archive says.")
        }
        self.byteOffset += Int64(bytes.count)
        self.checksum.update(bytes)
    }

    /// Compares what was appended with the directory at the end of the member, and reports the check.
    ///
    /// - Parameter hasAllBytes: False when the first bytes were not appended, so that the checksum cannot be compared.
    func end(hasAllBytes: Bool = true, _ context: BlobContext) throws(BlobError) {
        let hasLength =
            self.byteOffset == self.entry.byteCount
            || self.isWrapped && self.byteOffset & 0xFFFF_FFFF == self.entry.byteCount
        guard hasLength else {
            throw BlobError(
                .sizeMismatch,
                "The member ends at byte \(self.byteOffset) of the \(self.entry.byteCount) bytes that the archive says."
            )
        }
        guard hasAllBytes else { return }
        guard !self.entry.hasChecksum || self.checksum.value == self.entry.checksum else {
            throw BlobError(
                .checksumMismatch,
                "The CRC-32 of the member is \(String(self.checksum.value, radix: 16)), "
                    + "and the archive says \(String(self.entry.checksum, radix: 16)).")
        }
        context.reportEnd(of: ArchiveFormat.zip.rawValue, byteCount: self.byteOffset, check: self.entry.check)
    }
}
