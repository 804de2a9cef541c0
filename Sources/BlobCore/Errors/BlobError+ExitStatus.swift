extension BlobError.Code {
    /// The exit status of a program that fails with this code, from 64 to 77, or 130.
    ///
    /// The statuses are those of `sysexits.h`, and 130, which shells report for an interrupt; `blob` and the examples
    /// end with them. A code without a status of its own has 70, the status of a defect.
    public var exitStatus: Int32 {
        switch self {
        case .invalidLocator, .invalidArgument, .notRegistered: 64
        case .unsupported, .corrupted, .truncated, .checksumMismatch, .sizeMismatch, .trailingData, .encrypted,
            .ambiguousMember, .inconsistent, .limitExceeded:
            65
        case .notFound: 66
        case .unavailable: 69
        case .io: 74
        case .changed, .timedOut: 75
        case .refused: 76
        case .permissionDenied: 77
        case .cancelled: 130
        default: 70
        }
    }
}
