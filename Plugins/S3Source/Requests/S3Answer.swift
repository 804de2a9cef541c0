import BlobCore
import BlobTransfer

/// The explanation of a store that refuses a request: a document of XML with a code.
struct S3Answer {
    private static let maximumMessageLength = 200

    let code: String?
    private let message: String?
    /// The region of the bucket, if the request went to another one.
    let region: String?

    init(_ head: ResponseHead, _ explanation: [UInt8]) {
        let text = String(decoding: explanation, as: UTF8.self)
        self.code = Self.element("Code", in: text)
        self.message = Self.element("Message", in: text)
        let region = head.value(of: "x-amz-bucket-region") ?? Self.element("Region", in: text)
        // It becomes part of a host name.
        self.region = region.flatMap { Self.isRegion($0) ? $0 : nil }
    }

    /// Returns true for a text that can be the name of a region.
    static func isRegion(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains)
    }

    /// Returns the text of the first element of a name.
    private static func element(_ name: String, in text: String) -> String? {
        guard let start = text.firstRange(of: "<\(name)>")?.upperBound,
            let end = text[start...].firstRange(of: "</\(name)>")?.lowerBound
        else { return nil }
        let entities = ["&lt;": "<", "&gt;": ">", "&quot;": "\"", "&apos;": "'", "&amp;": "&"]
        return ["&lt;", "&gt;", "&quot;", "&apos;", "&amp;"].reduce(String(text[start..<end])) { text, entity in
            text.replacing(entity, with: entities[entity] ?? "")
        }
    }

    /// The kinds of errors by the code of the store; others are known by the status of the answer.
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

    /// Returns the error of the answer. Shows the message of the store alone: other elements repeat what was signed.
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
