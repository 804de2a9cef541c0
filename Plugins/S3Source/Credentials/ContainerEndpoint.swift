import BlobCore
import BlobPlatform
import BlobTransfer

/// The endpoint that provides temporary keys to a container.
struct ContainerEndpoint: Sendable {
    /// The base address for relative URIs.
    private static let address = "http://169.254.170.2"

    /// The hosts that may be contacted without TLS: the endpoints of ECS and EKS, and loopback addresses.
    private static let trustedHosts: Set = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "localhost", "[::1]"]

    private static let idleLimit = Duration.seconds(5)

    /// The maximum length of a response in bytes.
    private static let maximumByteCount = 64 * 1024

    private let url: TransferURL
    private let environment: AWSEnvironment

    /// Creates an endpoint; fails if the environment does not name one.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a URL to which a token must not be sent; the errors of parsing
    ///   the URL.
    init?(_ environment: AWSEnvironment) throws(BlobError) {
        let relative = environment.value("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map { Self.address + $0 }
        guard let text = relative ?? environment.value("AWS_CONTAINER_CREDENTIALS_FULL_URI") else { return nil }
        let url = try TransferURL(text)
        let host = url.origin.host
        guard url.origin.scheme == "https" || Self.trustedHosts.contains(host) || host.hasPrefix("127.") else {
            throw BlobError(
                .invalidArgument,
                "The container credentials endpoint must use https or be local, but its host is '\(host)'.")
        }
        (self.url, self.environment) = (url, environment)
    }

    /// Requests the keys. `completion` is called once, on any thread.
    func fetch(_ completion: @escaping @Sendable (Result<AccessKeys, BlobError>) -> Void) {
        do {
            var request = TransferRequest(self.url)
            (request.idleLimit, request.maximumRedirectionCount) = (Self.idleLimit, 0)
            request.settings.proxy = ""
            if let token = try self.token() {
                let field = BlobHTTPField("Authorization", token)
                try field.validate(reserved: [], "")
                request.privateFields = [field]
            }
            try request.start(upTo: Self.maximumByteCount) { completion($0.flatMap(Self.keys)) }
        } catch {
            completion(.failure(BlobError(wrapping: error)))
        }
    }

    /// The token, which is read again for each request because it changes.
    private func token() throws -> String? {
        guard let path = self.environment.value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") else {
            return self.environment.value("AWS_CONTAINER_AUTHORIZATION_TOKEN")
        }
        guard let text = try self.environment.file(path) else {
            throw BlobError(.notFound, "The file '\(path)' with the container's authorization token was not found.")
        }
        return text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private struct Answer: Decodable {
        let AccessKeyId: String
        let SecretAccessKey: String
        let Token: String?
        let Expiration: String?
    }

    private static func keys(_ answer: CollectedAnswer) -> Result<AccessKeys, BlobError> {
        Result { () throws(BlobError) in
            // The explanation is omitted, because it may repeat the request.
            guard answer.head.status == 200 else {
                throw BlobError(
                    .permissionDenied, "The container credentials endpoint answered \(answer.head.status).",
                    isTransient: answer.head.status >= 500)
            }
            // The response is omitted, because it contains secrets.
            guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(answer.body)) else {
                throw BlobError(
                    .corrupted, "The response of the container credentials endpoint contains no valid credentials.")
            }
            return try AccessKeys(
                identifier: answer.AccessKeyId, secret: answer.SecretAccessKey, sessionToken: answer.Token,
                expiration: answer.Expiration.flatMap { try? Date($0, strategy: .iso8601) }
            ).checkedKeys()
        }
    }
}
