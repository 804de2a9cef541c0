import BlobCore
import BlobTransfer

/// A store's explanation of a refusal: an XML document with an error code.
struct S3Answer {
    private static let maximumMessageLength = 200

    let code: String?
    private let message: String?
    /// The region of the bucket, if the request was sent to another region.
    let region: String?

    init(_ head: ResponseHead, _ explanation: [UInt8]) {
        let document = try? MarkupElement.parse(explanation)
        (self.code, self.message) = (document?.first("Code"), document?.first("Message"))
        let region = head.value(of: "x-amz-bucket-region") ?? document?.first("Region")
        // The region becomes part of a host name.
        self.region = region.flatMap { Self.isRegion($0) ? $0 : nil }
    }

    /// Returns true if the text can be the name of a region.
    static func isRegion(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains)
    }

    /// True if the store may have refused the request because it does not support one of its fields.
    var refusesFields: Bool { ["InvalidArgument", "InvalidRequest", "NotImplemented"].contains(self.code) }

    /// The kinds of errors, keyed by the store's code. All other errors are classified by the response's status.
    private static let codes: [String: (code: BlobError.Code, isTransient: Bool)] = [
        "NoSuchKey": (.notFound, false), "NoSuchBucket": (.notFound, false), "NoSuchVersion": (.notFound, false),
        "NoSuchUpload": (.notFound, false), "BadDigest": (.checksumMismatch, true),
        "XAmzContentSHA256Mismatch": (.checksumMismatch, true), "OperationAborted": (.unavailable, true),
        "AccessDenied": (.permissionDenied, false), "AllAccessDisabled": (.permissionDenied, false),
        "ExpiredToken": (.permissionDenied, false), "InvalidAccessKeyId": (.permissionDenied, false),
        "InvalidToken": (.permissionDenied, false), "RequestTimeTooSkewed": (.permissionDenied, false),
        "SignatureDoesNotMatch": (.permissionDenied, false),
        "AuthorizationHeaderMalformed": (.permissionDenied, false),
        "InvalidObjectState": (.unsupported, false), "PreconditionFailed": (.changed, true),
        "InternalError": (.unavailable, true), "RequestTimeout": (.unavailable, true),
        "ServiceUnavailable": (.unavailable, true), "SlowDown": (.unavailable, true),
        "Throttling": (.unavailable, true), "ThrottlingException": (.unavailable, true),
        "TooManyRequests": (.unavailable, true),
    ]

    /// Returns the error for the response. Shows only the store's message, because other elements repeat signed data.
    func error(_ head: ResponseHead) -> BlobError {
        let plain = BlobError(refusing: head, [])
        guard let code else { return plain }
        let kind = Self.codes[code] ?? (plain.code, plain.isTransient)
        var text = "The store answered \(head.status) \(code.prefix(Self.maximumMessageLength))"
        if let message, !message.isEmpty { text += ": \(message.prefix(Self.maximumMessageLength))" }
        var error = BlobError(kind.code, text.hasSuffix(".") ? text : text + ".", isTransient: kind.isTransient)
        error.retryDelay = plain.retryDelay
        return error
    }
}

extension MarkupElement {
    /// Returns the text of the first child element with the given name; nil if not found.
    func text(of name: String) -> String? { self.children.first { $0.name.local == name }?.trimmedText }

    /// Returns the text of the first descendant with the given name, at any depth; nil if not found.
    fileprivate func first(_ name: String) -> String? {
        self.text(of: name) ?? self.children.lazy.compactMap { $0.first(name) }.first
    }
}
