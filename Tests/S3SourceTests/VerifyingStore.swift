import BlobCore
import BlobTransfer
import Foundation
import HTTPTestSupport

@testable import S3Source

/// A store of one object that verifies the signature of each request.
struct VerifyingStore {
    static let keys = AccessKeys(identifier: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI", sessionToken: "token")

    let server: ObjectServer
    private let store: S3Service

    /// - Parameters:
    ///   - secondsAhead: The seconds by which its clock is ahead.
    ///   - keys: The keys of the client.
    ///   - script: Answers some requests before they are verified; see ``ObjectServer``.
    ///   - answer: Answers some requests after that.
    init(
        _ bytes: [UInt8], region: String = "us-east-1", secondsAhead: Int64 = 0,
        keys: AccessKeyProvider = AccessKeyProvider(keys),
        script: @escaping ObjectServer.Script = { _, _, _ in false },
        answer: @escaping ObjectServer.Script = { _, _, _ in false }
    ) throws {
        self.server = try ObjectServer(bytes) { number, request, connection in
            if script(number, request, connection) { return true }
            guard let refusal = Self.refusal(request, region, secondsAhead) else {
                return answer(number, request, connection)
            }
            connection.send(refusal)
            return true
        }
        self.store = S3Service(
            try S3Endpoint("http://127.0.0.1:\(self.server.port)"), keys, region: "us-east-1",
            BlobTransferSettings())
    }

    func source(_ path: String = "bucket/key") throws -> S3Source {
        let locator = try BlobLocator("s3://\(path)")
        return try S3Source(locator, S3Address(locator), self.store)
    }

    /// The provider of its objects.
    var provider: BlobProvider { S3Source.provider { [store] in store } }

    /// An answer of a store.
    static func refusal(_ status: String, _ code: String, _ more: String = "", date: Int64? = nil) -> String {
        let body =
            "<?xml version=\"1.0\"?>\n<Error><Code>\(code)</Code><Message>A &lt;message&gt;</Message>\(more)"
            + "<StringToSign>hidden</StringToSign></Error>"
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let time = date.map { "Date: \(formatter.string(from: Date(timeIntervalSince1970: TimeInterval($0))))\r\n" }
        return "HTTP/1.1 \(status)\r\n\(time ?? "")Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static func refusal(_ request: ObjectServer.Request, _ region: String, _ secondsAhead: Int64) -> String? {
        guard let authorization = request.fields["authorization"],
            let match = authorization.firstMatch(of: /Credential=\w+\/\d+\/([^\/]+)\/s3\/.*SignedHeaders=([^,]+),/)
        else { return self.refusal("403 Forbidden", "AccessDenied") }
        guard match.output.1 == region else {
            return self.refusal("400 Bad Request", "AuthorizationHeaderMalformed", "<Region>\(region)</Region>")
        }
        let now = Int64(Date().timeIntervalSince1970) + secondsAhead
        let time = (-900...900).lazy.map { SigningTime(secondsSince1970: now + $0) }
            .first { $0.text == request.fields["x-amz-date"] }
        guard let time else { return self.refusal("403 Forbidden", "RequestTimeTooSkewed", date: now) }
        let target = request.target.split(separator: "?", maxSplits: 1)
        let query = (target.dropFirst().first ?? "").split(separator: "&").map { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1)
            return (name: String(parts[0]), value: String(parts.dropFirst().first ?? ""))
        }
        let fields = match.output.2.split(separator: ";").map { name in
            BlobHTTPField(String(name), request.fields[String(name)] ?? "")
        }
        var signed = SigV4Request(path: String(target[0]), query: query, fields: fields)
        signed.method = request.method
        guard SigV4Signer(keys: self.keys, region: region).authorization(of: signed, at: time) == authorization else {
            return self.refusal("403 Forbidden", "SignatureDoesNotMatch")
        }
        return nil
    }
}
