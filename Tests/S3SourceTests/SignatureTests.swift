import BlobCore
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

@testable import S3Source

/// Signatures beside published ones, and beside those of another implementation.
@Suite struct SignatureTests {
    /// The examples of the documentation of S3, "Signature Calculations for the Authorization Header".
    @Test(
        arguments: [
            (
                "/test.txt", [], [BlobHTTPField("Range", "bytes=0-9")],
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            (
                "/", [("lifecycle", "")], [],
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            ),
            (
                "/", [("prefix", "J"), ("max-keys", "2")], [],
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ] as [(String, [(name: String, value: String)], [BlobHTTPField], String)])
    func theExamplesOfTheDocumentationAreSigned(
        path: String, query: [(name: String, value: String)], fields: [BlobHTTPField], signature: String
    ) {
        let keys = AccessKeys(
            identifier: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        let signer = SigV4Signer(keys: keys, region: "us-east-1")
        let request = SigV4Request(
            path: path, query: query, fields: [BlobHTTPField("Host", "examplebucket.s3.amazonaws.com")] + fields)
        let time = SigningTime(secondsSince1970: 1_369_353_600)
        #expect(time.text == "20130524T000000Z")
        let authorization = signer.fields(for: request, at: time).last?.value ?? ""
        #expect(authorization.hasSuffix(", Signature=\(signature)"), "\(authorization)")
    }

    /// `get-vanilla`, `get-vanilla-query-order-key-case` and `get-header-value-trim` of AWS's test suite.
    @Test(
        arguments: [
            ([], [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                [("Param2", "value2"), ("Param1", "value1")], [],
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            (
                [], [BlobHTTPField("My-Header1", " value1"), BlobHTTPField("My-Header2", " \"a   b   c\"")],
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"
            ),
        ] as [([(name: String, value: String)], [BlobHTTPField], String)])
    func theTestSuiteIsSigned(query: [(name: String, value: String)], fields: [BlobHTTPField], signature: String) {
        let keys = AccessKeys(identifier: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        let time = SigningTime(secondsSince1970: 1_440_938_160)
        let request = SigV4Request(
            path: "/", query: query,
            fields: fields + [BlobHTTPField("Host", "example.amazonaws.com"), BlobHTTPField("X-Amz-Date", time.text)])
        let signer = SigV4Signer(keys: keys, region: "us-east-1", service: "service")
        #expect(signer.authorization(of: request, at: time).hasSuffix(", Signature=\(signature)"))
    }

    private struct Row: Decodable {
        let bucket, key, region, identifier, secret, url, authorization: String
        let endpoint, version, token: String?
        let seconds: Int64
    }

    @Test func requestsForRandomKeysAreSignedAsBotocoreSignsThem() throws {
        let file = fixture("signatures.jsonl", of: "S3SourceTests")
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 100)
        for line in lines {
            let row = try JSONDecoder().decode(Row.self, from: Data(line))
            let plain = ByteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/".utf8)
            var text = "s3://\(row.bucket)/" + PercentEncoding.encode(row.key.utf8, leaving: plain)
            if let version = row.version {
                text += "?versionId=" + PercentEncoding.encode(version.utf8, leaving: plain)
            }
            let address = try S3Address(BlobLocator(text))
            #expect(address.key == Array(row.key.utf8))
            let (url, request) = try S3Endpoint(row.endpoint).target(address, region: row.region)
            #expect(url.text == row.url)
            let keys = AccessKeys(identifier: row.identifier, secret: row.secret, sessionToken: row.token)
            let fields = SigV4Signer(keys: keys, region: row.region)
                .fields(for: request, at: SigningTime(secondsSince1970: row.seconds))
            #expect(fields.last == BlobHTTPField("Authorization", row.authorization), "\(row.key)")
            #expect(fields.contains { $0.name == "x-amz-security-token" } == (row.token != nil))
        }
    }

    private struct PartRow: Decodable {
        let method, payloadHash, authorization: String
        let parameters, fields: [[String]]
        let token: String?
        let seconds: Int64
    }

    @Test func requestsOfUploadsInPartsAreSignedAsBotocoreSignsThem() throws {
        let file = fixture("part_signatures.jsonl", of: "S3SourceTests")
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 50)
        let address = try S3Address(BlobLocator("s3://bucket/a%20key"))
        for line in lines {
            let row = try JSONDecoder().decode(PartRow.self, from: Data(line))
            var (_, request) = try S3Endpoint("http://127.0.0.1:8080").target(
                address, region: "us-east-1", row.parameters.map { (name: $0[0], value: $0[1]) })
            (request.method, request.payloadHash) = (row.method, row.payloadHash)
            request.fields += row.fields.map { BlobHTTPField($0[0], $0[1]) }
            let keys = AccessKeys(
                identifier: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG", sessionToken: row.token)
            let fields = SigV4Signer(keys: keys, region: "us-east-1")
                .fields(for: request, at: SigningTime(secondsSince1970: row.seconds))
            #expect(fields.last?.value == row.authorization, "\(row.parameters)")
        }
    }

    @Test func keysAreInNoDescription() {
        let keys = AccessKeys(identifier: "ident", secret: "hidden", sessionToken: "token")
        var options = S3Source.Options()
        options.credentials = .keys(identifier: "ident", secret: "hidden", sessionToken: "token")
        for text in ["\(keys)", String(reflecting: keys), "\(options)", String(reflecting: options)] {
            #expect(!text.contains("hidden") && !text.contains("token\"") && !text.contains("ident"))
        }
        var dumped = ""
        dump(options, to: &dumped)
        #expect(!dumped.contains("hidden"))
    }

    @Test(
        arguments: [
            "s3:", "s3:/", "s3://", "s3://bucket", "s3://bucket/", "s3:///key", "s3://user@bucket/key",
            "s3://user:password@bucket/key", "s3://bucket:80/key", "s3://b%2Fc/key", "s3://bucket/key?x=1",
            "s3://bucket/key?versionId=", "s3://bucket/key?versionId=1&versionId=2", "s3://bucket/key?",
            "s3://[::1]/key", "s3://bucket?x/key",
        ])
    func aLocatorOfNoObjectIsInvalid(text: String) throws {
        #expect { try S3Address(BlobLocator(text)) } throws: { ($0 as? BlobError)?.code == .invalidLocator }
    }
}
