import BlobCore
import BlobTestSupport
import BlobTransfer
import Foundation
import HTTPTestSupport
import Testing

@testable import S3Source

/// Where keys, region and endpoint come from.
@Suite struct CredentialTests {
    private static let files = [
        "/home/.aws/credentials": """
        # a comment
        [default]
        aws_access_key_id = FILE   # mine
        aws_secret_access_key=secret/+=
        [ work ]
        AWS_ACCESS_KEY_ID = WORK
        aws_secret_access_key = other
        aws_session_token = token
        [half]
        aws_access_key_id = HALF
        """,
        "/home/.aws/config": """
        [default]
        region = eu-west-1
        s3 =
          addressing_style = path
          region = nested
        [profile work]
        region = eu-west-2
        endpoint_url = http://127.0.0.1:1/base/
        [profile role]
        role_arn = arn:aws:iam::1:role/x
        source_profile = work
        [profile sso]
        sso_session = x
        [work]
        region = wrong
        """,
    ]

    private func environment(_ variables: [String: String]) -> AWSEnvironment {
        let variables = variables.merging(["HOME": "/home"]) { first, _ in first }
        return AWSEnvironment {
            variables[$0]
        } file: {
            Self.files[$0]
        }
    }

    private func store(_ variables: [String: String], _ options: S3Source.Options = .init()) throws -> S3Service {
        try S3Service(options, self.environment(variables))
    }

    private func keys(_ store: S3Service) async throws -> AccessKeys? {
        try await withCheckedThrowingContinuation { continuation in
            store.keys.find { continuation.resume(with: $0) }
        }
    }

    @Test func theEnvironmentComesBeforeTheProfile() async throws {
        let both = ["AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s", "AWS_PROFILE": "work"]
        let store = try store(both)
        #expect(try await keys(store) == AccessKeys(identifier: "ENV", secret: "s"))
        #expect(store.region == "eu-west-2")
        let profile = try await keys(self.store(["AWS_ACCESS_KEY_ID": ""]))
        #expect(profile == AccessKeys(identifier: "FILE", secret: "secret/+="))
        let work = try await keys(self.store(["AWS_PROFILE": "work"]))
        #expect(work == AccessKeys(identifier: "WORK", secret: "other", sessionToken: "token"))
    }

    @Test func regionAndEndpointComeFromOptionsEnvironmentAndProfile() throws {
        let address = try S3Address(BlobLocator("s3://bucket/a/b"))
        func url(_ variables: [String: String], _ choose: (inout S3Source.Options) -> Void = { _ in }) throws -> String
        {
            var options = S3Source.Options()
            choose(&options)
            let store = try self.store(variables, options)
            return try store.endpoint.target(address, region: store.region).url.text
        }
        #expect(try url([:]) == "https://bucket.s3.eu-west-1.amazonaws.com/a/b")
        #expect(try url(["AWS_REGION": "us-west-2"]) == "https://bucket.s3.us-west-2.amazonaws.com/a/b")
        #expect(try url(["AWS_PROFILE": "work"]) == "http://127.0.0.1:1/base/bucket/a/b")
        #expect(try url(["AWS_ENDPOINT_URL": "http://h:2"]) == "http://h:2/bucket/a/b")
        let two = ["AWS_ENDPOINT_URL": "http://h:2", "AWS_ENDPOINT_URL_S3": "http://h:3"]
        #expect(try url(two) == "http://h:3/bucket/a/b")
        #expect(try url(two) { $0.endpoint = "https://h:4/" } == "https://h:4/bucket/a/b")
        #expect(try url([:]) { $0.region = "cn-north-1" } == "https://bucket.s3.cn-north-1.amazonaws.com.cn/a/b")
    }

    @Test(
        arguments: [
            (["AWS_PROFILE": "role"], BlobError.Code.unsupported), (["AWS_PROFILE": "sso"], .unsupported),
            (["AWS_PROFILE": "half"], .invalidArgument), (["AWS_PROFILE": "nobody"], .invalidArgument),
            (["AWS_ACCESS_KEY_ID": "x"], .invalidArgument), (["HOME": "/nowhere"], .permissionDenied),
            (["AWS_ACCESS_KEY_ID": "a\nb", "AWS_SECRET_ACCESS_KEY": "s"], .invalidArgument),
            (["AWS_REGION": "x.example/"], .invalidArgument), (["AWS_ENDPOINT_URL": "ftp://h"], .invalidArgument),
            (["AWS_ENDPOINT_URL": "http://u:p@h"], .invalidArgument),
            (["HOME": "/", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/"], .invalidArgument),
        ] as [([String: String], BlobError.Code)])
    func settingsThatCannotBeUsedAreErrors(variables: [String: String], code: BlobError.Code) {
        #expect(codeThrown { try self.store(variables) } == code)
    }

    /// A profile that is broken, or missing, is no matter for those who do not need it.
    @Test func anonymousRequestsNeedNoProfile() async throws {
        var options = S3Source.Options()
        options.credentials = .anonymous
        #expect(try await keys(store(["AWS_PROFILE": "nobody"], options)) == nil)
    }

    /// Every prefix and every flipped bit of the files is read, and ends.
    @Test func aDamagedProfileIsReadAsFarAsItIsOne() {
        for (path, text) in Self.files {
            let bytes = Array(text.utf8)
            for index in bytes.indices {
                _ = ProfileFile(String(decoding: bytes[..<index], as: UTF8.self), isConfig: path.hasSuffix("config"))
                for bit in 0..<8 {
                    let flipped = bytes.flipping(1 << bit, at: index)
                    _ = ProfileFile(String(decoding: flipped, as: UTF8.self), isConfig: true)
                }
            }
        }
    }

    // MARK: Containers

    private func answer(_ identifier: String, expiration: String) -> [UInt8] {
        Array(
            """
            {"AccessKeyId": "\(identifier)", "SecretAccessKey": "s", "Token": "t", "Expiration": "\(expiration)"}
            """.utf8)
    }

    @Test func aContainerGetsKeysOnceUntilTheyExpire() async throws {
        let folder = try TemporaryFolder()
        try folder.write("Bearer x\n", to: "token")
        let server = try ObjectServer(answer("FIRST", expiration: "2999-01-01T00:00:00Z"))
        let environment = AWSEnvironment {
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "token"][$0]
        } file: {
            folder.read($0)
        }
        let store = try S3Service(S3Source.Options(), environment)
        for _ in 0..<2 {
            let keys = try await keys(store)
            #expect(keys?.identifier == "FIRST" && keys?.secret == "s" && keys?.sessionToken == "t")
        }
        #expect(server.requests.count == 1)
        #expect(server.requests.first?.fields["authorization"] == "Bearer x")
        // Temporary keys that are about to expire are replaced.
        #expect(store.keys.forget())
        server.object.bytes = answer("SECOND", expiration: "2001-01-01T00:00:00Z")
        for _ in 0..<2 { #expect(try await keys(store)?.identifier == "SECOND") }
        #expect(server.requests.count == 3)
    }

    @Test(arguments: [
        "", "{}", "[]", "{\"AccessKeyId\": \"x\"}", "{\"AccessKeyId\": \"\", \"SecretAccessKey\": \"hidden\"}",
    ]) func anAnswerWithoutKeysIsAnErrorThatShowsNothing(json: String) async throws {
        let server = try ObjectServer(Array(json.utf8))
        let environment = AWSEnvironment {
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url][$0]
        } file: { _ in
            nil
        }
        let store = try S3Service(S3Source.Options(), environment)
        let error = await errorThrown { try await self.keys(store) }
        #expect(error?.code == (json.contains("hidden") ? .invalidArgument : .corrupted))
        #expect(error?.description.contains("hidden") == false)
        withExtendedLifetime(server) {}
    }
}
