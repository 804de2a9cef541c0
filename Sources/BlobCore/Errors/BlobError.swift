import BlobPlatform

/// An error with its kind, the affected locator and byte offset, and whether trying again can help.
///
/// Every error that leaves this framework is a `BlobError`; other errors of plugins are wrapped once, with the original
/// as ``cause``. A `BlobError` bridges to `NSError` with the domain `BlobStreams`, the number of its ``Code`` and the
/// cause under `NSUnderlyingErrorKey`.
///
/// ```swift
/// do {
///     print(try source.data(upTo: 1 << 20).count)
/// } catch {
///     switch error.code {
///     case .notFound: print("There is no", error.locator ?? "such source")
///     case _ where error.isTransient: print("Worth another try:", error)
///     default: print(error)
///     }
/// }
/// ```
public struct BlobError: Error, Equatable, Sendable {
    /// The domain of the `NSError` that a `BlobError` becomes.
    package static let domain = "BlobStreams"

    /// The kind of the failure; the value to switch on.
    public var code: Code { self.fields.code }

    /// A message for a person: a full sentence or two, without the locator and offset that ``description`` adds.
    public var message: String { self.fields.message }

    /// True when the same request may succeed later, unchanged.
    public var isTransient: Bool {
        get { self.fields.isTransient }
        set { self.fields.isTransient = newValue }
    }

    /// The operation that failed: `resolve`, `open`, `info`, `read`, `write` or `close`; filled in by the framework
    /// where the thrower left it out.
    public var operation: String? {
        get { self.fields.operation }
        set { self.fields.operation = newValue }
    }

    /// The locator of the source that failed, as its ``BlobLocator/description`` has it; filled in by the framework when
    /// the source has one. Set to a text with a user, a password or a query, it has `***` in their place.
    public var locator: String? {
        get { self.fields.locator }
        set { self.fields.locator = newValue.map { printableLocator($0) } }
    }

    /// The offset of the failure in bytes, from the start of the bytes of ``locator`` or of the innermost layer.
    public var byteOffset: Int64? {
        get { self.fields.byteOffset }
        set { self.fields.byteOffset = newValue }
    }

    /// The layers that the error passed through, outermost first.
    public var layers: [String] {
        get { self.fields.layers }
        set { self.fields.layers = newValue }
    }

    /// The `errno` of the system call that failed, if one did.
    public var systemErrorNumber: CInt? {
        get { self.fields.systemErrorNumber }
        set { self.fields.systemErrorNumber = newValue }
    }

    /// The setting with which the same request would succeed; nil when there is none.
    public var remedy: Remedy? {
        get { self.fields.remedy }
        set { self.fields.remedy = newValue }
    }

    /// The time after which the source asked to be tried again, as a server does with `Retry-After`; nil when it did
    /// not.
    package var retryDelay: Duration? {
        get { self.fields.retryDelay }
        set { self.fields.retryDelay = newValue }
    }

    /// The underlying error, of the layer below.
    public var cause: (any Error)? { self.fields.cause.error }

    private struct Fields: Equatable, Sendable {
        let code: Code
        let message: String
        var isTransient: Bool
        var operation: String?
        var locator: String?
        var byteOffset: Int64?
        var layers: [String] = []
        var systemErrorNumber: CInt?
        var retryDelay: Duration?
        var remedy: Remedy?
        let cause: Cause
    }

    /// The cause, which does not count in a comparison, because errors have no equality.
    private struct Cause: Equatable, Sendable {
        let error: (any Error)?

        static func == (left: Self, right: Self) -> Bool { true }
    }

    private indirect enum Box: Equatable, Sendable {
        case holding(Fields)
    }

    // One reference, so that states that may hold an error stay small.
    private var box: Box

    private var fields: Fields {
        get {
            switch self.box {
            case .holding(let fields): fields
            }
        }
        set { self.box = .holding(newValue) }
    }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of the failure.
    ///   - message: The message for a person.
    ///   - operation: The operation that failed; nil lets the framework fill it in, as with the next two.
    ///   - locator: The locator of the source that failed; see ``locator``.
    ///   - byteOffset: The offset of the failure in bytes.
    ///   - isTransient: True when trying again can help; nil takes the default of the code.
    ///   - remedy: The setting with which the same request would succeed, if there is one.
    ///   - cause: The error of the layer below.
    public init(
        _ code: Code, _ message: String, operation: String? = nil, locator: String? = nil,
        byteOffset: Int64? = nil, isTransient: Bool? = nil, remedy: Remedy? = nil, cause: (any Error)? = nil
    ) {
        self.box = .holding(
            Fields(
                code: code, message: message, isTransient: isTransient ?? code.isTransient, operation: operation,
                locator: locator.map { printableLocator($0) }, byteOffset: byteOffset, remedy: remedy,
                cause: Cause(error: cause)))
    }
}

extension BlobError {
    /// A setting of the reader that would let a request succeed which failed without it, for a program that can ask for
    /// it or name its option.
    ///
    /// A struct, so that remedies can be added without breaking a `switch` (give it a `default`).
    public struct Remedy: Hashable, Sendable {
        private let setting: String

        /// The name of the format that ``formatInProcess(_:)`` allows, such as `sevenzip` or `media`; nil for other settings.
        public let format: String?

        private init(_ setting: String, format: String? = nil) { (self.setting, self.format) = (setting, format) }

        /// A password for content that is encrypted.
        public static let password = Self("password")
        /// A higher ``BlobContext/spoolLimit``.
        public static let spoolLimit = Self("spoolLimit")
        /// A higher ``BlobContext/ratioLimit``.
        public static let ratioLimit = Self("ratioLimit")
        /// A higher ``BlobContext/memoryLimit``.
        public static let memoryLimit = Self("memoryLimit")
        /// A longer ``BlobContext/idleLimit``.
        public static let idleLimit = Self("idleLimit")
        /// Permission to replace a file that exists.
        public static let overwriting = Self("overwriting")
        /// Requests that are not signed, where public objects need no credentials.
        public static let unsignedRequests = Self("unsignedRequests")

        /// Permission to read a format in this process, where no confined helper process can.
        public static func formatInProcess(_ format: String) -> Self { Self("formatInProcess", format: format) }
    }

    /// Returns this error with another message.
    package func replacingMessage(_ message: String) -> BlobError {
        var error = BlobError(
            self.code, message, operation: self.operation, locator: self.locator, byteOffset: self.byteOffset,
            isTransient: self.isTransient, remedy: self.remedy, cause: self.cause)
        (error.layers, error.systemErrorNumber) = (self.layers, self.systemErrorNumber)
        error.retryDelay = self.retryDelay
        return error
    }
}

extension BlobError: CustomStringConvertible {
    /// One line: `CODE: MESSAGE [LOCATOR] (at byte N)`. Control characters are escaped.
    public var description: String {
        var line = "\(self.code): \(self.message)"
        if let locator, !self.message.holds(locator) { line += " [\(locator)]" }
        if let byteOffset { line += " (at byte \(byteOffset))" }
        return String(line.flatMap { $0.unicodeScalars.allSatisfy(\.isPrintable) ? String($0) : $0.escaped })
    }
}

extension Unicode.Scalar {
    /// False for control characters, line separators and characters that change the direction of text.
    package var isPrintable: Bool {
        if self.isASCII { return self.value >= 0x20 && self.value < 0x7F }
        return switch self.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format: false
        default: true
        }
    }
}

extension Character {
    fileprivate var escaped: String { self.unicodeScalars.map { $0.escaped(asASCII: true) }.joined() }
}
