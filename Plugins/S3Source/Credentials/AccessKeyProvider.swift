import BlobCore
import BlobPlatform
import BlobTransfer

/// Finds the keys for requests where the AWS tools look: in the environment, a profile, or a container endpoint.
final class AccessKeyProvider: Sendable {
    /// The time in seconds before temporary keys expire at which new keys are requested.
    private static let margin: TimeInterval = 60

    private enum Origin {
        case none
        case fixed(AccessKeys)
        case container(ContainerEndpoint)
    }

    private struct State {
        var keys: AccessKeys?
        var waitingCompletions: [Completion] = []
    }

    typealias Completion = @Sendable (Result<AccessKeys?, BlobError>) -> Void

    private let origin: Origin
    private let state = Locked(State())

    /// Creates a provider of fixed keys. With nil, requests are not signed.
    init(_ keys: AccessKeys?) { self.origin = keys.map { .fixed($0) } ?? .none }

    /// Creates the provider for an environment.
    ///
    /// - Throws: ``BlobError/Code/permissionDenied`` if the environment has no keys; ``BlobError/Code/unsupported`` for
    ///   a profile with a role or another way to obtain keys; ``BlobError/Code/invalidArgument`` for an incomplete or
    ///   invalid key pair; the errors of `profile`.
    init(_ environment: AWSEnvironment, profile: () throws -> [String: String]) throws {
        let (identifier, secret) = (
            environment.value("AWS_ACCESS_KEY_ID"), environment.value("AWS_SECRET_ACCESS_KEY")
        )
        if let keys = try Self.keys(
            identifier, secret, environment.value("AWS_SESSION_TOKEN"), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
        {
            self.origin = .fixed(keys)
            return
        }
        let profile = try profile()
        if let keys = try Self.keys(
            profile["aws_access_key_id"], profile["aws_secret_access_key"], profile["aws_session_token"],
            "aws_access_key_id and aws_secret_access_key in the profile")
        {
            self.origin = .fixed(keys)
            return
        }
        let foreign = [
            "role_arn", "source_profile", "credential_process", "sso_session", "sso_start_url",
            "web_identity_token_file",
        ].first { profile[$0] != nil }
        if let foreign {
            throw BlobError(
                .unsupported,
                "The profile uses '\(foreign)', which is not supported: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
                    + "and AWS_SESSION_TOKEN, as 'aws configure export-credentials' prints them.")
        }
        guard let endpoint = try ContainerEndpoint(environment) else {
            throw BlobError(
                .permissionDenied,
                "No credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or configure a profile or a "
                    + "container credentials endpoint.",
                remedy: .unsignedRequests)
        }
        self.origin = .container(endpoint)
    }

    private static func keys(
        _ identifier: String?, _ secret: String?, _ token: String?, _ names: String
    ) throws(BlobError) -> AccessKeys? {
        guard identifier != nil || secret != nil else { return nil }
        guard let identifier, let secret else {
            throw BlobError(.invalidArgument, "Only one of \(names) is set.")
        }
        return try AccessKeys(identifier: identifier, secret: secret, sessionToken: token).checkedKeys()
    }

    /// Finds the keys without blocking. `completion` is called once, on any thread.
    func find(_ completion: @escaping Completion) {
        switch self.origin {
        case .none: completion(.success(nil))
        case .fixed(let keys): completion(.success(keys))
        case .container(let endpoint): self.find(at: endpoint, completion)
        }
    }

    /// Discards keys that the store refused; returns false if no other keys can be obtained.
    func forget() -> Bool {
        guard case .container = self.origin else { return false }
        // Another request may already have been refused and have discarded the keys.
        self.state.withLock { $0.keys = nil }
        return true
    }

    private func find(at endpoint: ContainerEndpoint, _ completion: @escaping Completion) {
        let (keys, isFirst) = self.state.withLock { state -> (AccessKeys?, Bool) in
            if let keys = state.keys, keys.expiration.map({ $0.timeIntervalSinceNow > Self.margin }) ?? true {
                return (keys, false)
            }
            state.waitingCompletions.append(completion)
            return (nil, state.waitingCompletions.count == 1)
        }
        if let keys { return completion(.success(keys)) }
        guard isFirst else { return }
        endpoint.fetch { result in
            let waiting = self.state.withLock { state in
                if case .success(let keys) = result { state.keys = keys }
                defer { state.waitingCompletions = [] }
                return state.waitingCompletions
            }
            for completion in waiting { completion(result.map { $0 }) }
        }
    }
}

extension AccessKeys {
    /// Returns the keys if they are valid in header fields.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if a key is empty or contains an invalid character. The message
    ///   does not show the keys.
    func checkedKeys() throws(BlobError) -> AccessKeys {
        let texts = [self.identifier, self.secret, self.sessionToken ?? "x"]
        guard texts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else {
            throw BlobError(.invalidArgument, "The credentials are empty or contain an invalid character.")
        }
        return self
    }
}

/// The credentials of a store's user. Their description never includes them.
struct AccessKeys: Sendable, Equatable {
    /// The access key ID.
    let identifier: String
    /// The secret access key.
    let secret: String
    /// The token of temporary credentials; nil for permanent credentials.
    var sessionToken: String?
    /// The time from which the store refuses the keys; nil if they do not expire.
    var expiration: Date?
}

extension AccessKeys: CustomStringConvertible, CustomReflectable {
    var description: String { "AccessKeys(***)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
