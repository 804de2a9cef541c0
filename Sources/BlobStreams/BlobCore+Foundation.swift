@_exported public import BlobCore
public import Foundation

extension BlobError: LocalizedError, CustomNSError {
    /// The domain of the `NSError` that a `BlobError` becomes.
    public static var errorDomain: String { self.domain }

    /// The number of the error's code.
    public var errorCode: Int { self.code.rawValue }

    /// The same text as `description`.
    public var errorDescription: String? { self.description }

    /// The description, and the cause under `NSUnderlyingErrorKey`.
    public var errorUserInfo: [String: Any] {
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: self.description]
        userInfo[NSUnderlyingErrorKey] = self.cause.map { $0 as NSError }
        return userInfo
    }
}

extension NSError: LocallyDescribedError {
    package var localText: String { self.localizedDescription }
}

extension CocoaError: LocallyDescribedError {
    package var localText: String { self.localizedDescription }
}
