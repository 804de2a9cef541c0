extension BlobError {
    /// The kind of a ``BlobError``: a number that never changes, because it is the code of the bridged `NSError`.
    ///
    /// A struct, so that codes can be added without breaking a `switch` (give it a `default`).
    public struct Code: Hashable, Sendable {
        /// The number, from 1.
        public let rawValue: Int

        // Numbers without a name are described as `unknown`.
        package init(rawValue: Int) { self.rawValue = rawValue }
    }
}

extension BlobError.Code {
    /// A file, a member, an asset or the object of a scheme does not exist.
    public static let notFound = Self(rawValue: 1)
    /// The system or the peer denies the operation.
    public static let permissionDenied = Self(rawValue: 2)
    /// A text is not a locator, or names something that is invalid for its scheme.
    public static let invalidLocator = Self(rawValue: 3)
    /// An argument is outside of its range.
    public static let invalidArgument = Self(rawValue: 4)
    /// No provider is registered for a scheme; the message lists those that are.
    public static let notRegistered = Self(rawValue: 5)
    /// A format, feature or kind of object that cannot be read.
    public static let unsupported = Self(rawValue: 6)
    /// The structure of the format is broken.
    public static let corrupted = Self(rawValue: 7)
    /// The bytes ended too early.
    public static let truncated = Self(rawValue: 8)
    /// A checksum differs from the one that was expected.
    public static let checksumMismatch = Self(rawValue: 9)
    /// A size differs from the one that was expected.
    public static let sizeMismatch = Self(rawValue: 10)
    /// Data follows the end of the format.
    public static let trailingData = Self(rawValue: 11)
    /// The content is encrypted.
    public static let encrypted = Self(rawValue: 12)
    /// A name matches several members.
    public static let ambiguousMember = Self(rawValue: 13)
    /// Two parts of the format contradict each other.
    public static let inconsistent = Self(rawValue: 14)
    /// A limit was reached; the message names it and its value.
    public static let limitExceeded = Self(rawValue: 15)
    /// The content is no longer the one that was opened.
    public static let changed = Self(rawValue: 16)
    /// The deadline of the job or the idle limit of a step passed.
    public static let timedOut = Self(rawValue: 17)
    /// The context was cancelled.
    public static let cancelled = Self(rawValue: 18)
    /// The system reported an error; see ``BlobError/systemErrorNumber``.
    public static let io = Self(rawValue: 19)
    /// A peer, a library or a helper is not available.
    public static let unavailable = Self(rawValue: 20)
    /// The server refused the request.
    public static let refused = Self(rawValue: 21)
    /// The reader or stream is closed.
    public static let closed = Self(rawValue: 22)
    /// A plugin broke a contract of ``BlobInputStreamDataSource``.
    public static let misbehavingPlugin = Self(rawValue: 23)
    /// A defect of this framework.
    public static let internalError = Self(rawValue: 24)

    /// The name of each code, by number from 1.
    private static let names = [
        "notFound", "permissionDenied", "invalidLocator", "invalidArgument", "notRegistered", "unsupported",
        "corrupted", "truncated", "checksumMismatch", "sizeMismatch", "trailingData", "encrypted", "ambiguousMember",
        "inconsistent", "limitExceeded", "changed", "timedOut", "cancelled", "io", "unavailable", "refused", "closed",
        "misbehavingPlugin", "internalError",
    ]

    /// All codes, by number.
    package static var all: [Self] { (1...self.names.count).map(Self.init(rawValue:)) }

    /// True when errors of this code are transient, unless they state otherwise.
    package var isTransient: Bool { [.changed, .timedOut, .unavailable].contains(self) }
}

extension BlobError.Code: CustomStringConvertible {
    /// The name of the code's constant; `unknown` for a number without one.
    public var description: String {
        (1...Self.names.count).contains(self.rawValue) ? Self.names[self.rawValue - 1] : "unknown"
    }
}
