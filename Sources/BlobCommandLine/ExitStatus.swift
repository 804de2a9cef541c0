package import BlobCore

extension BlobError.Code {
    /// The exit status of a command that fails with this code: `sysexits.h`, and 130, which shells report for an
    /// interrupt.
    package var exitStatus: Int32 {
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
