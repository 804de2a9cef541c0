public import BlobReceiving
public import Hummingbird
public import NIOPosix

/// Answers the requests of a Hummingbird application by a service, such as `UploadService` or `ServedBlobs`.
///
/// ```swift
/// let service = try UploadService(folder: "received")
/// try await Application(responder: RequestServiceResponder(service)).runService()
/// ```
///
/// Beside other routes, ``Hummingbird/RouterMethods/on(_:service:threadPool:)`` adds a service to a router.
///
/// Hummingbird's responders cannot send interim responses: a resumable upload does not announce its URL with 104 while
/// its body arrives, and senders that wait for `100 Continue` wait until they give up. Both then send as usual.
public struct RequestServiceResponder<Context>: HTTPResponder {
    private let service: any RequestService
    private let threadPool: NIOThreadPool

    /// Creates a responder.
    ///
    /// - Parameters:
    ///   - service: The service. It finds the whole path of a request, because its answers may contain paths.
    ///   - threadPool: The threads for the calls of the service, which may block: while they write to a disk, or wait
    ///     for a network if the service reads from one.
    ///   - context: The type of the application's request contexts.
    public init(
        _ service: any RequestService, threadPool: NIOThreadPool = .singleton,
        context: Context.Type = BasicRequestContext.self
    ) { (self.service, self.threadPool) = (service, threadPool) }

    /// Returns the response to a request; see ``BlobReceiving/RequestService/response(to:threadPool:)``.
    public func respond(to request: Request, context: Context) async throws -> Response {
        try await self.service.response(to: request, threadPool: self.threadPool)
    }
}

extension RouterMethods {
    /// The methods of all services.
    private static var serviceMethods: [HTTPRequest.Method] { [.get, .head, .post, .put, .patch, .delete, .options] }

    /// Answers the requests of a path by a service, whatever their method.
    ///
    /// ```swift
    /// router.on("films/**", service: ServedBlobs([.init("films", .folder(path: "/srv/films"))], registry: .standard))
    /// ```
    ///
    /// - Parameter path: The path, such as `**`. It is not removed from the paths that the service finds.
    @discardableResult public func on(
        _ path: RouterPath, service: any RequestService, threadPool: NIOThreadPool = .singleton
    ) -> Self {
        let responder = RequestServiceResponder(service, threadPool: threadPool, context: Context.self)
        for method in Self.serviceMethods { self.on(path, method: method, responder: responder) }
        return self
    }
}
