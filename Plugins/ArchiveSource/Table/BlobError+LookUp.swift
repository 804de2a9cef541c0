import BlobCore

extension BlobError {
    init(notFound selector: BlobLocator.Selector) {
        switch selector {
        case .name(let name): self.init(.notFound, "There is no member '\(BlobMember.printable(name))'.")
        case .index(let index): self.init(.notFound, "There is no member with the index \(index).")
        }
    }

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

    static func ambiguous(_ name: [UInt8], count: Int, first: Int) -> BlobError {
        BlobError(
            .ambiguousMember,
            "\(count) members have the name '\(BlobMember.printable(name))'; say which by its index, as in '@\(first)'."
        )
    }
}
