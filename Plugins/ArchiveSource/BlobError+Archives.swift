import BlobCore
import BlobDeflate

extension BlobError {
    /// True if the archive itself, not the access to it, caused the error.
    var isAboutFormat: Bool {
        switch self.code {
        case .corrupted, .truncated, .checksumMismatch, .sizeMismatch, .trailingData, .unsupported, .encrypted: true
        default: false
        }
    }

    /// True if a table that does not match the archive may have caused the error.
    var mayBeCausedByTable: Bool {
        switch self.code {
        case .notFound, .ambiguousMember, .inconsistent, .internalError: true
        default: self.isAboutFormat
        }
    }

    /// Creates the error for data after the end of an archive.
    init(trailingDataAfter format: ArchiveFormat, at byteOffset: Int64) {
        self.init(
            .trailingData, "Unexpected data after the end of the \(format.rawValue) archive.", byteOffset: byteOffset)
    }

    static let archiveChangedError = BlobError(.changed, "The archive has changed since it was opened.")

    static let staleTableError = BlobError(.corrupted, "The table of members does not match the archive.")

    static func truncatedMemberError(at byteOffset: Int64) -> BlobError {
        BlobError(.truncated, "The archive ends within the member.", byteOffset: byteOffset)
    }

    static func missingPasswordError(_ what: String) -> BlobError {
        BlobError(.encrypted, "\(what) is encrypted, but no password was given.", remedy: .password)
    }

    static func unverifiablePasswordError(_ what: String) -> BlobError {
        BlobError(.encrypted, "\(what) is encrypted, but has no checksum to verify the password with.")
    }

    static func wrongPasswordError(_ what: String, _ cause: BlobError? = nil) -> BlobError {
        BlobError(.encrypted, "\(what) cannot be read: the password is wrong, or the archive is damaged.", cause: cause)
    }
}

extension BlobContext {
    /// Returns the password of the archive at a locator.
    ///
    /// - Parameter what: The encrypted item, for the error message.
    /// - Throws: ``BlobError/Code/encrypted`` without a password; any error thrown by ``BlobContext/password``.
    func password(of archive: BlobLocator?, for what: String) throws(BlobError) -> String {
        let password: String?
        do { password = try self.password?(archive) } catch { throw BlobError(wrapping: error) }
        guard let password else { throw .missingPasswordError(what) }
        return password
    }
}

extension CRC32 {
    /// Compares the CRC-32 of a member with the expected checksum, unless the expected checksum is nil.
    ///
    /// - Parameter witness: The part that contains the expected checksum, such as "its header", for the error message.
    /// - Throws: ``BlobError/Code/checksumMismatch`` if the checksums differ.
    func check(_ expected: UInt32?, in witness: String) throws(BlobError) {
        guard let expected, expected != self.value else { return }
        throw BlobError(
            .checksumMismatch,
            "The CRC-32 of the member is \(String(self.value, radix: 16)), but \(witness) says "
                + "\(String(expected, radix: 16)).")
    }
}
