import BlobCore
import BlobTransfer
import CryptoDigest

extension S3Store {
    /// - Throws: The errors of ``KeyChain/init(_:profile:)`` and ``S3Endpoint/init(_:)``.
    convenience init(_ options: S3Source.Options, _ environment: AWSEnvironment) throws {
        try CryptoDigest.requireTrait(for: "S3Source")
        // Its error counts only if the profile is needed.
        let profile = Result { try environment.profile() }
        let settings = (try? profile.get()) ?? [:]
        let endpoint = try S3Endpoint(
            options.endpoint ?? environment.value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") ?? settings["endpoint_url"]
        )
        let region =
            options.region ?? environment.value("AWS_REGION", "AWS_DEFAULT_REGION") ?? settings["region"]
            ?? S3Endpoint.defaultRegion
        guard S3Answer.isRegion(region) else {
            throw BlobError(.invalidArgument, "A region has lower-case letters, digits and '-' only.")
        }
        let keys =
            switch options.credentials.kind {
            case .anonymous: KeyChain(nil)
            case .keys(let keys): KeyChain(try keys.checked())
            case .automatic: try KeyChain(environment) { try profile.get() }
            }
        var transfers = options.transfers
        // The signature is the only authorization.
        (transfers.credentials, transfers.netrcFile) = (nil, nil)
        self.init(endpoint, keys, region: region, transfers)
    }
}
