import BlobCore
import BlobPlatform
import BlobTransfer
import CryptoDigest

/// The signed requests for an object in a store.
final class S3Requests: RemoteRequests {
    let address: S3Address
    let service: S3Service
    private let region: Locked<String>

    init(_ address: S3Address, _ service: S3Service) {
        (self.address, self.service, self.region) = (address, service, Locked(service.region))
    }

    var scheme: String { "s3" }

    /// Requests the checksums of the object.
    static let checksumMode = BlobHTTPField("x-amz-checksum-mode", "ENABLED")

    /// The condition `If-Match`, which S3 supported long before `If-Range`.
    var conditionField: String { "If-Match" }

    func makeRequest(
        _ fields: [BlobHTTPField], _ completion: @escaping @Sendable (Result<TransferRequest, BlobError>) -> Void
    ) {
        self.service.keys.find { keys in
            // Stores omit the checksums of the object from responses with a range.
            let isRange = fields.contains { $0.name == "Range" }
            let call = S3Call(fields: isRange ? [] : [Self.checksumMode])
            completion(keys.flatMap { keys in Result { () throws(BlobError) in try self.request(call, fields, keys) } })
        }
    }

    /// Returns a request without a body.
    ///
    /// - Parameter fields: Additional fields, which are not signed.
    func request(
        _ call: S3Call, _ fields: [BlobHTTPField], _ keys: AccessKeys?
    ) throws(BlobError) -> TransferRequest {
        let (url, privateFields) = try self.signed(call, keys)
        var request = TransferRequest(url, fields: fields)
        request.isHead = call.method == "HEAD"
        request.settings = self.service.settings
        // A redirection requires another signature; see `correctsRequest(_:_:)`.
        request.maximumRedirectionCount = 0
        request.privateFields = privateFields
        return request
    }

    /// Returns the URL of a request and its fields, including the fields that authenticate it. With nil keys, the
    /// request is not signed.
    func signed(_ call: S3Call, _ keys: AccessKeys?) throws(BlobError) -> (url: TransferURL, fields: [BlobHTTPField]) {
        let region = self.region.withLock { $0 }
        var (url, request) = try self.service.endpoint.target(self.address, region: region, call.parameters)
        let fields = call.fields + call.checksums
        guard let keys else { return (url, fields) }
        (request.method, request.payloadHash) = (call.method, call.payloadHash)
        request.fields += fields
        let now = Int64(time(nil)) + self.service.clockSkew.withLock { $0 }
        let signer = SigV4Signer(keys: keys, region: region)
        return (url, fields + signer.fields(for: request, at: SigningTime(secondsSince1970: now)))
    }

    func name(_ head: ResponseHead) -> String? { self.address.name }

    /// The checksums of the object, and its ETag if that is the MD5. It is the MD5 if the object has no parts and is
    /// not encrypted with a customer's key or by KMS.
    func digests(_ head: ResponseHead) -> [BlobStatedDigest] {
        let isEncrypted =
            head.value(of: "x-amz-server-side-encryption-customer-algorithm") != nil
            || head.value(of: "x-amz-server-side-encryption")?.hasPrefix("aws:kms") == true
        return head.objectDigests + (isEncrypted ? [] : [head.tagDigest].compactMap(\.self))
    }

    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError {
        S3Answer(head, explanation).error(head)
    }

    /// Corrects the clock, the region or temporary keys if the response identifies them as the cause of the error.
    func correctsRequest(_ head: ResponseHead, _ explanation: [UInt8]) -> Bool {
        let answer = S3Answer(head, explanation)
        switch answer.code {
        case "RequestTimeTooSkewed":
            guard let date = head.date else { return false }
            self.service.clockSkew.withLock { $0 = date - Int64(time(nil)) }
            return true
        case "ExpiredToken":
            return self.service.keys.forget()
        default:
            guard let region = answer.region, [301, 307, 400].contains(head.status) else { return false }
            return self.region.exchange(region) != region
        }
    }
}

/// A request about an object before it is signed.
struct S3Call: Sendable {
    var method = "GET"
    /// The names and values of the query, percent-encoded.
    var parameters: [(name: String, value: String)] = []
    /// The header fields. All are signed.
    var fields: [BlobHTTPField] = []
    /// Additional fields for checksums, which not all stores support.
    var checksums: [BlobHTTPField] = []
    /// The SHA-256 of the body as hexadecimal digits.
    var payloadHash = SigV4Request.emptyPayloadHash
    /// False if the request may be repeated only after the store refused it, so that its effect does not occur twice.
    var isRepeatable = true
}

/// A store and its keys, shared by the sources of the store's objects.
final class S3Service: Sendable {
    let endpoint: S3Endpoint
    let keys: AccessKeyProvider
    let region: String
    let settings: BlobTransferSettings
    /// The number of seconds by which the store's clock is ahead of the local clock.
    let clockSkew = Locked<Int64>(0)
    /// False after the store has refused a request for checksums.
    let acceptsChecksums = Locked(true)
    /// True while the responses to parts contain digests of them.
    let provesParts = Locked(false)

    init(_ endpoint: S3Endpoint, _ keys: AccessKeyProvider, region: String, _ settings: BlobTransferSettings) {
        (self.endpoint, self.keys, self.region, self.settings) = (endpoint, keys, region, settings)
    }

    /// - Throws: The errors of ``AccessKeyProvider/init(_:profile:)`` and ``S3Endpoint/init(_:)``;
    ///   ``BlobError/Code/invalidArgument`` for an invalid region; ``BlobError/Code/unavailable`` without the trait
    ///   `Crypto`.
    convenience init(_ options: S3Source.Options, _ environment: AWSEnvironment) throws {
        try CryptoDigest.requireTrait(for: "S3Source")
        // This error matters only if the profile is needed.
        let profile = Result { try environment.profile() }
        let settings = (try? profile.get()) ?? [:]
        let endpoint = try S3Endpoint(
            options.endpoint ?? environment.value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") ?? settings["endpoint_url"]
        )
        let region =
            options.region ?? environment.value("AWS_REGION", "AWS_DEFAULT_REGION") ?? settings["region"]
            ?? S3Endpoint.defaultRegion
        guard S3Answer.isRegion(region) else {
            throw BlobError(.invalidArgument, "A region must contain only lower-case letters, digits and '-'.")
        }
        let keys =
            switch options.credentials.kind {
            case .anonymous: AccessKeyProvider(nil)
            case .keys(let keys): AccessKeyProvider(try keys.checkedKeys())
            case .automatic: try AccessKeyProvider(environment) { try profile.get() }
            }
        var transfers = options.transfers
        // Only the signature is sent as authorization.
        (transfers.credentials, transfers.netrcFile) = (nil, nil)
        self.init(endpoint, keys, region: region, transfers)
    }
}
