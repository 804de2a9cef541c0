import BlobPlatform

/// An error with its kind, the affected locator and byte offset, and whether trying again can help.
///
/// Every error that leaves this framework is a `BlobError`; a plugin's other errors are wrapped once, with the original
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

    /// A human-readable message of a full sentence or two, without the locator and offset that ``description`` adds.
    public var message: String { self.fields.message }

    /// True if the same request may succeed later, unchanged.
    public var isTransient: Bool {
        get { self.fields.isTransient }
        set { self.fields.isTransient = newValue }
    }

    /// The operation that failed: `resolve`, `open`, `info`, `read`, `write` or `close`; filled in by the framework if
    /// the code that threw the error left it out.
    public var operation: String? {
        get { self.fields.operation }
        set { self.fields.operation = newValue }
    }

    /// The locator of the source that failed, in the form of ``BlobLocator/description``; filled in by the framework if
    /// the source has one. Setting it replaces a user, a password or a query in the text with `***`.
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

    /// The setting with which the same request would succeed; nil if no setting would help.
    public var remedy: Remedy? {
        get { self.fields.remedy }
        set { self.fields.remedy = newValue }
    }

    /// The delay before a retry that the source requested, such as a server's `Retry-After`; nil if it requested none.
    package var retryDelay: Duration? {
        get { self.fields.retryDelay }
        set { self.fields.retryDelay = newValue }
    }

    /// The error of the layer below, if any.
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

    /// The cause; ignored in comparisons, because errors are not equatable.
    private struct Cause: Equatable, Sendable {
        let error: (any Error)?

        static func == (left: Self, right: Self) -> Bool { true }
    }

    private indirect enum Box: Equatable, Sendable {
        case holding(Fields)
    }

    // A single reference, so that states that may hold an error stay small.
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
    ///   - message: The human-readable message.
    ///   - operation: The operation that failed; nil, as for `locator` and `byteOffset`, if the framework should fill
    ///     it in.
    ///   - locator: The locator of the source that failed; see ``locator``.
    ///   - byteOffset: The offset of the failure in bytes.
    ///   - isTransient: True if trying again can help; nil for the default of the code.
    ///   - remedy: The setting with which the same request would succeed, if any.
    ///   - cause: The error of the layer below, if any.
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

    /// A setting of the reader that would let a failed request succeed, so that a program can ask for it or name its
    /// option.
    ///
    /// A struct, so that remedies can be added without breaking a `switch` (give it a `default`).
    public struct Remedy: Hashable, Sendable {
        private let setting: String

        /// The name of the format that ``formatInProcess(_:)`` allows, such as `sevenzip` or `media`; otherwise nil.
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
        /// Permission to replace an existing file.
        public static let overwriting = Self("overwriting")
        /// Unsigned requests, for public objects that need no credentials.
        public static let unsignedRequests = Self("unsignedRequests")

        /// Permission to read a format in this process if no confined helper process can read it.
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

    /// The kind of a ``BlobError``: a number that never changes, because it is the code of the bridged `NSError`.
    ///
    /// A struct, so that codes can be added without breaking a `switch` (give it a `default`).
    public struct Code: Hashable, Sendable {
        /// The number, at least 1.
        public let rawValue: Int

        // Numbers without a name are described as `unknown`.
        package init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// Creates a `BlobError` from any error: the error itself, or a wrapper with the original as its cause.
    ///
    /// An `NSError` that was a `BlobError` keeps its code; `CancellationError` and the cancellations of Foundation
    /// become ``Code/cancelled``; a POSIX error becomes the code for its `errno`; a Cocoa error for a missing or
    /// unreadable file becomes ``Code/notFound`` or ``Code/permissionDenied``; anything else is ``Code/io``, or
    /// ``Code/corrupted`` if the step of a ``BlobTransform`` throws it. The message is the error's own if it has one:
    /// the text of a `LocalizedError`, otherwise its `description`. For any other error, the message is the name of the
    /// type and of the case: the values in it may be secrets, such as a URL.
    public init(wrapping error: any Error) { self.init(wrapping: error, otherwise: .io) }

    /// Creates a `BlobError` like ``init(wrapping:)``, with `code` for an error that has no code of its own.
    init(wrapping error: any Error, otherwise code: Code) {
        switch error {
        case let error as BlobError:
            self = error
        case is CancellationError:
            self = BlobError(.cancelled, "The task was cancelled.", cause: error)
        case let error as POSIXError:
            self = BlobError(systemError: error.code.rawValue, doing: "The system call failed", cause: error)
        default: self = BlobError(foreign: error, otherwise: code)
        }
    }

    /// Calls a closure, and converts its errors with ``init(wrapping:)``.
    package static func wrapping<Value>(_ body: () throws -> Value) throws(BlobError) -> Value {
        do { return try body() } catch { throw BlobError(wrapping: error) }
    }

    private init(foreign error: any Error, otherwise code: Code) {
        // Every error bridges to a domain and a number; an `NSError` keeps its own. The dynamic type is compared,
        // because an error of another domain can be cast to a `CocoaError`.
        let isCocoaError = type(of: error) == CocoaError.self
        let cocoaCode = isCocoaError ? (error as? CocoaError)?.code.rawValue : nil
        switch (isCocoaError ? "NSCocoaErrorDomain" : error._domain, cocoaCode ?? error._code) {
        case (BlobError.domain, let number):
            let code = Code(rawValue: number)
            let (text, prefix) = (Self.text(of: error), "\(code): ")
            self.init(code, text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text, cause: error)
        case ("NSPOSIXErrorDomain", let number):
            self.init(systemError: CInt(truncatingIfNeeded: number), doing: Self.text(of: error), cause: error)
        case ("NSCocoaErrorDomain", CocoaError.Code.fileReadNoSuchFile.rawValue),
            ("NSCocoaErrorDomain", CocoaError.Code.fileNoSuchFile.rawValue):
            self.init(.notFound, Self.text(of: error), cause: error)
        case ("NSCocoaErrorDomain", CocoaError.Code.fileReadNoPermission.rawValue):
            self.init(.permissionDenied, Self.text(of: error), cause: error)
        case ("NSCocoaErrorDomain", CocoaError.Code.userCancelled.rawValue), ("NSURLErrorDomain", urlErrorCancelled):
            self.init(.cancelled, Self.text(of: error), cause: error)
        case let (domain, number):
            self.init(code, Self.ownText(of: error) ?? "\(Self.text(of: error)) (\(domain) \(number))", cause: error)
        }
    }

    /// Returns the text of any error, for display and for logs. An error without a description is named; its values,
    /// which may be secrets, are not shown.
    package static func text(of error: any Error) -> String {
        if let error = error as? BlobError { return error.description }
        return self.ownText(of: error) ?? (error as? any LocallyDescribedError)?.localText ?? self.name(of: error)
    }

    private static func name(of error: any Error) -> String {
        let mirror = Mirror(reflecting: error)
        guard mirror.displayStyle == .enum else { return "\(type(of: error))" }
        // A case without values has no children; its description is its name alone.
        return "\(type(of: error)).\(mirror.children.first.map { $0.label ?? "" } ?? "\(error)")"
    }

    /// Returns the text that the error itself provides; nil if it provides none.
    private static func ownText(of error: any Error) -> String? {
        if let text = (error as? any LocalizedError)?.errorDescription, !text.isEmpty { return text }
        if error is any LocallyDescribedError { return nil }
        // The description of an error with its own domain, such as an `NSError`, is for debugging. The type is checked,
        // because on Apple's systems any error can be cast to an `NSError` and to the protocols of `NSError`.
        let type = type(of: error)
        guard type is any CustomStringConvertible.Type, error._domain == String(reflecting: type) else { return nil }
        let text = "\(error)"
        return text.isEmpty ? nil : text
    }

    /// Creates the error for a failed system call.
    ///
    /// - Parameters:
    ///   - number: The `errno` of the call.
    ///   - act: The action that failed, as the beginning of a sentence: "Could not open x".
    ///   - cause: The underlying error, if any.
    public init(systemError number: CInt, doing act: String, cause: (any Error)? = nil) {
        let code: Code =
            switch number {
            case ENOENT, ENOTDIR, ENXIO: .notFound
            case EACCES, EPERM, EROFS: .permissionDenied
            case ECANCELED: .cancelled
            case ETIMEDOUT: .timedOut
            case ENAMETOOLONG: .invalidArgument
            default: .io
            }
        let transient = [EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM, EBUSY, ETIMEDOUT, EINTR].contains(number)
        self.init(code, "\(act): \(String(cString: strerror(number))).", isTransient: transient, cause: cause)
        self.systemErrorNumber = number
    }

    /// Returns this error with the facts of a layer that it passes; only missing facts are filled in.
    package func passing(
        layer: String, operation: String, locator: @autoclosure () -> String?, byteOffset: Int64? = nil
    ) -> BlobError {
        var error = self
        error.operation = error.operation ?? operation
        if error.layers.isEmpty {
            error.byteOffset = error.byteOffset ?? byteOffset
        }
        error.locator = error.locator ?? locator()
        error.layers.insert(layer, at: 0)
        return error
    }

    /// The error for a blob that is longer than the largest offset.
    static var offsetOverflowError: BlobError {
        BlobError(.limitExceeded, "The offset has reached the limit of \(Int64.max) bytes.")
    }
}

extension BlobError: CustomStringConvertible {
    /// One line: `CODE: MESSAGE [LOCATOR] (at byte N)`. Control characters are escaped.
    public var description: String {
        var line = "\(self.code): \(self.message)"
        if let locator, !self.message.containsText(locator) { line += " [\(locator)]" }
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

extension BlobError.Code {
    /// A file, a container member, an asset, an object on a server or another named item was not found.
    public static let notFound = Self(rawValue: 1)
    /// The operation is not permitted: the system, a server or a safety check denied it, or credentials are missing.
    public static let permissionDenied = Self(rawValue: 2)
    /// A text is not a valid locator or URL, or a locator is not valid for its scheme or for the operation.
    public static let invalidLocator = Self(rawValue: 3)
    /// An argument is invalid: malformed, out of range, or in conflict with another argument.
    public static let invalidArgument = Self(rawValue: 4)
    /// No provider is registered for a scheme; the message names the product to add, or a similar scheme.
    public static let notRegistered = Self(rawValue: 5)
    /// The format, feature, kind of object or operation is not supported.
    public static let unsupported = Self(rawValue: 6)
    /// The data is damaged or malformed.
    public static let corrupted = Self(rawValue: 7)
    /// The bytes ended too early.
    public static let truncated = Self(rawValue: 8)
    /// A checksum differs from the expected one.
    public static let checksumMismatch = Self(rawValue: 9)
    /// A size differs from the expected one.
    public static let sizeMismatch = Self(rawValue: 10)
    /// Unexpected data follows the end of a stream or an archive.
    public static let trailingData = Self(rawValue: 11)
    /// The content is encrypted and cannot be decrypted: the password is missing or wrong, or the method is not
    /// supported.
    public static let encrypted = Self(rawValue: 12)
    /// A name matches several members.
    public static let ambiguousMember = Self(rawValue: 13)
    /// Two parts of the data contradict each other, or an index is not a valid index of the content.
    public static let inconsistent = Self(rawValue: 14)
    /// A limit was exceeded; the message describes the limit.
    public static let limitExceeded = Self(rawValue: 15)
    /// The content changed after it was opened, or does not match the required validator.
    public static let changed = Self(rawValue: 16)
    /// The deadline of the job, the idle limit of a step or another time limit has passed.
    public static let timedOut = Self(rawValue: 17)
    /// The context was cancelled.
    public static let cancelled = Self(rawValue: 18)
    /// The system or another library reported an error for which there is no other code; see
    /// ``BlobError/systemErrorNumber`` and ``BlobError/cause``.
    public static let io = Self(rawValue: 19)
    /// A server, a library, a helper, a lock or another required resource is not available.
    public static let unavailable = Self(rawValue: 20)
    /// The server refused the request.
    public static let refused = Self(rawValue: 21)
    /// The reader, stream, pipe or other object is already closed.
    public static let closed = Self(rawValue: 22)
    /// A plugin broke a contract of ``BlobInputStreamDataSource``.
    public static let misbehavingPlugin = Self(rawValue: 23)
    /// A defect of this framework.
    public static let internalError = Self(rawValue: 24)

    /// The names of all codes, in the order of their numbers, which begin with 1.
    private static let names = [
        "notFound", "permissionDenied", "invalidLocator", "invalidArgument", "notRegistered", "unsupported",
        "corrupted", "truncated", "checksumMismatch", "sizeMismatch", "trailingData", "encrypted", "ambiguousMember",
        "inconsistent", "limitExceeded", "changed", "timedOut", "cancelled", "io", "unavailable", "refused", "closed",
        "misbehavingPlugin", "internalError",
    ]

    /// All codes, by number.
    package static var all: [Self] { (1...self.names.count).map(Self.init(rawValue:)) }

    /// True if errors of this code are transient, unless they state otherwise.
    package var isTransient: Bool { [.changed, .timedOut, .unavailable].contains(self) }

    /// The exit status of a program that fails with this code: 64 to 77, or 130.
    ///
    /// The statuses follow `sysexits.h`, except 130, which shells report for an interrupt; `blob` and the examples exit
    /// with them. Codes without a more specific status have 70, the status of a software defect.
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

extension BlobError.Code: CustomStringConvertible {
    /// The name of the code's constant; `unknown` for a number without one.
    public var description: String {
        (1...Self.names.count).contains(self.rawValue) ? Self.names[self.rawValue - 1] : "unknown"
    }
}

/// The number of `URLError.cancelled`, which FoundationEssentials lacks.
private let urlErrorCancelled = -999

/// An error whose text comes from Foundation.
package protocol LocallyDescribedError: Error {
    /// The localised description.
    var localText: String { get }
}
