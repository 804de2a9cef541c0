extension BlobError {
    /// The kind of a ``BlobError``: a number that never changes, because it crosses into `NSError`.
    ///
    /// A struct, so that codes can be added without breaking a `switch` (give it a `default`).
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number, from 1.
        public let rawValue: Int

        /// Accepts any number; those without a name of their own are called `unknown`.
        public init(rawValue: Int) { self.rawValue = rawValue }
    }
}

extension BlobError.Code {
    /// A file, member, asset or the object of a scheme does not exist.
    public static let notFound = Self(rawValue: 1)
    /// The system or the peer does not allow it.
    public static let permissionDenied = Self(rawValue: 2)
    /// A text is not a locator, or names something that its scheme cannot have.
    public static let invalidLocator = Self(rawValue: 3)
    /// An argument is outside of its range.
    public static let invalidArgument = Self(rawValue: 4)
    /// No provider is registered for a scheme; the message lists those that are.
    public static let notRegistered = Self(rawValue: 5)
    /// A format, feature or kind of object that cannot be read.
    public static let unsupported = Self(rawValue: 6)
    /// The structure of the format is broken.
    public static let corrupted = Self(rawValue: 7)
    /// The bytes ended before their end.
    public static let truncated = Self(rawValue: 8)
    /// A checksum differs from the one that was expected.
    public static let checksumMismatch = Self(rawValue: 9)
    /// A size differs from the one that was expected.
    public static let sizeMismatch = Self(rawValue: 10)
    /// Something follows the end of the format.
    public static let trailingData = Self(rawValue: 11)
    /// The content is encrypted.
    public static let encrypted = Self(rawValue: 12)
    /// A name stands for several members.
    public static let ambiguousMember = Self(rawValue: 13)
    /// Two parts of the format contradict each other.
    public static let inconsistent = Self(rawValue: 14)
    /// A limit was reached; the message names it and its value.
    public static let limitExceeded = Self(rawValue: 15)
    /// The content is no longer what was opened.
    public static let changed = Self(rawValue: 16)
    /// The deadline of the job or the idle limit of a step passed.
    public static let timedOut = Self(rawValue: 17)
    /// The context was cancelled.
    public static let cancelled = Self(rawValue: 18)
    /// The system reported an error; see ``BlobError/systemErrorNumber``.
    public static let io = Self(rawValue: 19)
    /// A peer, a library or a helper is not there.
    public static let unavailable = Self(rawValue: 20)
    /// The server said no.
    public static let refused = Self(rawValue: 21)
    /// The reader or stream is closed.
    public static let closed = Self(rawValue: 22)
    /// A plugin broke the contract of ``BlobReader`` or ``BlobInputStreamDataSource``.
    public static let misbehavingPlugin = Self(rawValue: 23)
    /// A defect of this framework.
    public static let internalError = Self(rawValue: 24)

    /// Name, exit status and transience of each code, by number from 1.
    private static let table: [(name: String, exitStatus: Int32, isTransient: Bool)] = [
        ("notFound", 66, false), ("permissionDenied", 77, false), ("invalidLocator", 64, false),
        ("invalidArgument", 64, false), ("notRegistered", 64, false), ("unsupported", 65, false),
        ("corrupted", 65, false), ("truncated", 65, false), ("checksumMismatch", 65, false),
        ("sizeMismatch", 65, false), ("trailingData", 65, false), ("encrypted", 65, false),
        ("ambiguousMember", 65, false), ("inconsistent", 65, false), ("limitExceeded", 65, false),
        ("changed", 75, true), ("timedOut", 75, true), ("cancelled", 130, false), ("io", 74, false),
        ("unavailable", 69, true), ("refused", 76, false), ("closed", 70, false),
        ("misbehavingPlugin", 70, false), ("internalError", 70, false),
    ]

    /// All codes, by number.
    public static var all: [Self] { (1...self.table.count).map(Self.init(rawValue:)) }

    private var row: (name: String, exitStatus: Int32, isTransient: Bool) {
        (1...Self.table.count).contains(self.rawValue) ? Self.table[self.rawValue - 1] : ("unknown", 70, false)
    }

    /// The name of the code, as its constant is called.
    public var name: String { self.row.name }

    /// The exit status of a command that fails with this code (`sysexits.h`; 130 as shells report an interrupt).
    public var exitStatus: Int32 { self.row.exitStatus }

    /// Whether an error of this code may go away by itself, unless the error says otherwise.
    public var isTransient: Bool { self.row.isTransient }
}

extension BlobError.Code: CustomStringConvertible {
    /// The ``name``.
    public var description: String { self.name }
}
