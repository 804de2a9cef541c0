import BlobCore
import BlobTransfer

/// The requests for a URL.
struct HTTPRequests: RemoteRequests {
    /// The fields that follow from how an object is read, and those that frame a message.
    private static let reservedFields: Set = [
        "accept-encoding", "connection", "content-length", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "range", "te", "transfer-encoding", "upgrade",
    ]

    private let request: TransferRequest
    private let name: String?

    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/invalidArgument``, ``BlobError/Code/unavailable``.
    init(_ locator: BlobLocator, _ options: HTTPSource.Options) throws(BlobError) {
        var request = TransferRequest(try TransferURL("\(locator.scheme):\(locator.schemeSpecificPart)"))
        request.privateFields = options.headers.map { BlobHTTPField($0.name, $0.value) }
        try BlobHTTPField.validate(
            request.privateFields, reserved: Self.reservedFields, "follows from how the object is read")
        request.settings = options.transfers
        self.request = request
        self.name = ContentDisposition.name(ofPath: request.url.path)
    }

    func makeRequest(
        _ fields: [BlobHTTPField], _ completion: @escaping @Sendable (Result<TransferRequest, BlobError>) -> Void
    ) {
        var request = self.request
        request.fields = fields
        completion(.success(request))
    }

    func name(_ head: ResponseHead) -> String? {
        head.value(of: "content-disposition").flatMap(ContentDisposition.fileName) ?? self.name
    }
}
