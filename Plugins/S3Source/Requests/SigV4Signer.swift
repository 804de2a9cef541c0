import BlobCore
import BlobPlatform
import BlobTransfer
import CryptoDigest

/// A request in the form in which it is signed.
struct SigV4Request {
    /// The hash of an empty body.
    static let emptyPayloadHash = sha256("")

    var method = "GET"
    /// The path as it is sent. Each segment is percent-encoded once and, as S3 requires, nothing is normalised.
    var path: String
    /// The names and values of the query, percent-encoded.
    var query: [(name: String, value: String)] = []
    /// The header fields to sign, including `Host`.
    var fields: [BlobHTTPField]
    var payloadHash = emptyPayloadHash

    /// The text whose hash is signed, and the names of the fields that it contains.
    var canonicalRequest: (text: String, fieldNames: String) {
        var values: [String: [String]] = [:]
        for field in self.fields {
            let words = field.value.split { $0 == " " || $0 == "\t" }
            values[field.name.lowercased(), default: []].append(words.joined(separator: " "))
        }
        // Sorted by their bytes.
        let names = values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let query = self.query.map { "\($0.name)=\($0.value)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let lines = names.map { "\($0):\(values[$0, default: []].joined(separator: ","))\n" }
        let fieldNames = names.joined(separator: ";")
        let parts = [
            self.method, self.path, query.joined(separator: "&"), lines.joined(), fieldNames, self.payloadHash,
        ]
        return (parts.joined(separator: "\n"), fieldNames)
    }
}

/// Signs requests with AWS Signature Version 4, which stores with the S3 interface verify.
struct SigV4Signer {
    private static let algorithm = "AWS4-HMAC-SHA256"

    let keys: AccessKeys
    let region: String
    var service = "s3"

    /// Returns the value of the `Authorization` field.
    func authorization(of request: SigV4Request, at time: SigningTime) -> String {
        let canonical = request.canonicalRequest
        let scope = [time.date, self.region, self.service, "aws4_request"]
        let text = [Self.algorithm, time.text, scope.joined(separator: "/"), sha256(canonical.text)]
        var key = Array("AWS4\(self.keys.secret)".utf8)
        for part in scope { key = Self.authenticationCode(of: part, with: key) }
        let signature = Self.authenticationCode(of: text.joined(separator: "\n"), with: key).hexadecimal
        return "\(Self.algorithm) Credential=\(self.keys.identifier)/\(scope.joined(separator: "/")), "
            + "SignedHeaders=\(canonical.fieldNames), Signature=\(signature)"
    }

    /// Returns the fields that authenticate a request for an object, including `Authorization`.
    func fields(for request: SigV4Request, at time: SigningTime) -> [BlobHTTPField] {
        var added = [
            BlobHTTPField("x-amz-content-sha256", request.payloadHash), BlobHTTPField("x-amz-date", time.text),
        ]
        if let token = self.keys.sessionToken { added.append(BlobHTTPField("x-amz-security-token", token)) }
        var request = request
        request.fields += added
        return added + [BlobHTTPField("Authorization", self.authorization(of: request, at: time))]
    }

    private static func authenticationCode(of text: String, with key: [UInt8]) -> [UInt8] {
        CryptoDigest.authenticationCode(of: Array(text.utf8), with: key)
    }
}

private func sha256(_ text: String) -> String { CryptoDigest.sha256.digest(of: Array(text.utf8)).hexadecimal }

/// The time of a signature, in UTC.
struct SigningTime: Sendable, Equatable {
    /// The date and time, such as `20130524T000000Z`.
    let text: String

    /// The date, such as `20130524`.
    var date: String { String(self.text.prefix(8)) }

    /// - Parameter seconds: The number of seconds since 1970.
    init(secondsSince1970 seconds: Int64) {
        var (clock, parts) = (time_t(seconds), tm())
        gmtime_r(&clock, &parts)
        let numbers = [parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec].map { number in
            (number < 10 ? "0" : "") + String(number)
        }
        let date = String(parts.tm_year + 1900) + numbers[..<2].joined()
        self.text = "\(date)T\(numbers[2...].joined())Z"
    }
}
