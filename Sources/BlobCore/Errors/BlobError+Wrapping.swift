import BlobPlatform

/// An error whose text comes from Foundation.
package protocol LocallyDescribedError: Error {
    /// The localised description.
    var localText: String { get }
}

extension BlobError {
    /// Creates a `BlobError` from any error: the error itself, or a wrapper with the original as its cause.
    ///
    /// An `NSError` that was a `BlobError` keeps its code; `CancellationError` becomes ``Code/cancelled``; a POSIX
    /// error gets the code for its `errno`; a Cocoa error for a missing or unreadable file becomes ``Code/notFound`` or
    /// ``Code/permissionDenied``; anything else is ``Code/io``. The message is the error's own where it has one: the
    /// text of a `LocalizedError`, otherwise its `description`. Of any other error it is the name of the type, and of the
    /// case: the values in it may be secrets, such as a URL.
    public init(wrapping error: any Error) {
        switch error {
        case let error as BlobError:
            self = error
        case is CancellationError:
            self = BlobError(.cancelled, "The task was cancelled.", cause: error)
        case let error as POSIXError:
            self = BlobError(systemError: error.code.rawValue, doing: "The system call failed", cause: error)
        default: self = BlobError(foreign: error)
        }
    }

    private init(foreign error: any Error) {
        // Every error has a domain and a number; an `NSError` has its own. The type of an error is asked, as one of
        // another domain can be cast to a `CocoaError`.
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
        case let (domain, number):
            self.init(.io, Self.ownText(of: error) ?? "\(Self.text(of: error)) (\(domain) \(number))", cause: error)
        }
    }

    /// Returns the text of any error, for a person and for logs: an error that does not describe itself is named, and
    /// its values, which may be secrets, are not shown.
    package static func text(of error: any Error) -> String {
        if let error = error as? BlobError { return error.description }
        return self.ownText(of: error) ?? (error as? any LocallyDescribedError)?.localText ?? self.name(of: error)
    }

    private static func name(of error: any Error) -> String {
        let mirror = Mirror(reflecting: error)
        guard mirror.displayStyle == .enum else { return "\(type(of: error))" }
        // A case without values has no children, and is described by its name alone.
        return "\(type(of: error)).\(mirror.children.first.map { $0.label ?? "" } ?? "\(error)")"
    }

    /// Returns the text that the error itself provides; nil when there is none.
    private static func ownText(of error: any Error) -> String? {
        if let text = (error as? any LocalizedError)?.errorDescription, !text.isEmpty { return text }
        if error is any LocallyDescribedError { return nil }
        // The description of an error with a domain of its own, such as an `NSError`, is for debugging. The type is
        // checked, because on Apple's systems an error can be cast to an `NSError` and to all that is one.
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
    ///   - cause: The underlying error, if there is one.
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

    /// Returns this error with the facts of a layer that it passes; only missing ones are filled in.
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
    static var pastLargestOffset: BlobError {
        BlobError(.limitExceeded, "The offset is at the limit of \(Int64.max) bytes.")
    }
}
