#if Receiver && Photos
import BlobReceiving
import BlobStreamsNIO
import BlobStreamsStandard
import Foundation

/// Serves the routes on 127.0.0.1 to the page, and to nobody else.
struct PickerServer: RequestService {
    /// The maximum number of connections, of which a browser opens about six. Further ones receive a 503 response.
    static let maximumConnectionCount = 64

    /// The maximum length of a request body in bytes.
    static let maximumBodyByteCount = 256 * 1024

    private let folder: URL
    private let routes: PickerRoutes
    private let currentSession: BlobObservable<PickerSession>

    /// The session. Its port is 0 before ``listen(within:)`` if no port is stored.
    var session: PickerSession { self.currentSession.value }

    /// Creates a server with the session stored in `folder`, or with a new one.
    init(keepingStateIn folder: URL, _ routes: PickerRoutes) {
        (self.folder, self.routes) = (folder, routes)
        self.currentSession = BlobObservable(PickerSession.load(from: folder))
    }

    /// Listens on the session's port, or on a port chosen by the system, and stores the session.
    ///
    /// - Parameter timeLimit: The time limit for the header of a request, for its body, and for the transfer of its
    ///   response, so that slow clients do not occupy connections.
    /// - Throws: ``BlobError/Code/unavailable`` if the port is taken, most likely by another picker with this folder.
    func listen(within timeLimit: Duration = .seconds(60)) throws -> HTTPServer.Listening {
        var limits = HTTPServer.Limits()
        limits.maximumConnectionCount = Self.maximumConnectionCount
        (limits.headerTimeout, limits.idleTimeout) = (timeLimit, timeLimit)
        // More than the longest body in this time, so that no body takes longer.
        limits.minimumRate = Int64(Double(Self.maximumBodyByteCount) / (timeLimit / .seconds(1))) + 1
        let port = self.session.port
        do {
            let listening = try HTTPServer(self, limits: limits).listen(host: "127.0.0.1", port: port)
            self.currentSession.update { $0.port = listening.port }
            try self.session.store(in: self.folder)
            return listening
        } catch let error as BlobError where error.systemErrorNumber == EADDRINUSE {
            throw BlobError(
                .unavailable,
                "Port \(port) is already in use, perhaps by another picker that uses the folder \(self.folder.path).")
        }
    }

    func receiver(for head: RequestHead) throws(BlobError) -> any BodyReceiver {
        let session = self.session
        guard session.admits(head) else {
            throw RequestRefusal.error(403, "Only requests from the picker's page are accepted.", Self.fields())
        }
        guard let path = session.path(in: head.target) else {
            throw RequestRefusal.error(404, "No such page.", Self.fields())
        }
        return CollectedRequest(upTo: Self.maximumBodyByteCount, refusalFields: Self.fields()) { [routes] body in
            await routes.response(to: head.method, path, Data(body))
        }
    }

    /// Returns the header fields of a response. The page runs only its own script, cannot be framed, and never reveals
    /// its URL.
    ///
    /// - Parameter age: The number of seconds for which the browser may cache the response.
    static func fields(cachedFor age: Int = 0) -> [RequestHead.Field] {
        [
            (
                "Content-Security-Policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            ),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", age > 0 ? "private, max-age=\(age)" : "no-store"),
        ]
    }
}
#endif
