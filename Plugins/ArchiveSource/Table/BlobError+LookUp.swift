import BlobCore

extension BlobError {
    /// True when the archive is at fault, not the access to it.
    var isAboutFormat: Bool {
        switch self.code {
        case .corrupted, .truncated, .checksumMismatch, .sizeMismatch, .trailingData, .unsupported, .encrypted: true
        default: false
        }
    }

    /// True when a table that does not fit the archive can be the reason.
    var mayBeCausedByTable: Bool {
        switch self.code {
        case .notFound, .ambiguousMember, .inconsistent, .internalError: true
        default: self.isAboutFormat
        }
    }
}
