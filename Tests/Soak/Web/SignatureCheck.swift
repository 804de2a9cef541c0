import BlobStreamsStandard
import Foundation
import HTTPTestSupport

/// A check of the signatures of requests without a body, AWS Signature Version 4: apart from the code that signs them.
struct SignatureCheck: Sendable {
    private let identifier: String
    private let secret: String

    init(_ identifier: String, secret: String) { (self.identifier, self.secret) = (identifier, secret) }

    /// Returns true for a request without a query whose signature is right.
    func accepts(_ request: ObjectServer.Request) -> Bool {
        let form = /AWS4-HMAC-SHA256 Credential=(.+?)\/(.+), SignedHeaders=(.+), Signature=(.+)/
        guard let match = request.fields["authorization"]?.wholeMatch(of: form)?.output, match.1 == self.identifier,
            let time = request.fields["x-amz-date"], time.hasPrefix(match.2.prefix { $0 != "/" })
        else { return false }
        let lines = match.3.split(separator: ";").map { "\($0):\(request.fields[String($0)] ?? "")\n" }
        let canonical = ["GET", request.target, "", lines.joined(), String(match.3), Self.hash("")]
        let hash = Self.hash(canonical.joined(separator: "\n"))
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(match.2)\n\(hash)"
        var key = Array("AWS4\(self.secret)".utf8)
        // The scope: the date, the region, the service and an end.
        for part in match.2.split(separator: "/").map(String.init) + [text] {
            key = CryptoDigest.authenticationCode(of: Array(part.utf8), with: key)
        }
        return key.hexadecimal == match.4
    }

    private static func hash(_ text: String) -> String { CryptoDigest.sha256.digest(of: Array(text.utf8)).hexadecimal }
}
