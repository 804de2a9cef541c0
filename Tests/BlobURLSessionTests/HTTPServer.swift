import BlobStreams
import BlobTestSupport
import Foundation

/// What a request brought, as it came over the wire.
struct ReceivedRequest: Sendable {
    var method = ""
    var path = ""
    var headers: [(name: String, value: String)] = []
    var body = Data()
    /// The body's own end was seen: the last chunk, or as many bytes as `Content-Length` says.
    var isBodyComplete = false

    func values(of name: String) -> [String] {
        self.headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    func value(of name: String) -> String? { self.values(of: name).first }

    /// The body came whole, and was this. (A comparison in `#expect` would print both.)
    func brought(_ bytes: Data) -> Bool { self.isBodyComplete && self.body == bytes }
}

/// An HTTP/1.1 server in this process, on 127.0.0.1, that answers as its handler says.
///
/// Each connection has a thread of its own, on which the handler runs and may block.
final class HTTPServer: Sendable {
    typealias Handler = @Sendable (HTTPExchange) -> Void

    /// The requests in the order in which their answers, or connections, ended.
    let requests = Recorder<ReceivedRequest>()
    private let server: LoopbackServer
    private let handler: Handler
    private let counts = Locked<[String: Int]>([:])

    init(_ handler: @escaping Handler) throws {
        self.handler = handler
        self.server = try LoopbackServer()
        self.server.start { [weak self] in self?.serve(HTTPConnection($0)) }
    }

    /// Reads the body and says 200, as most tests want it.
    convenience init() throws {
        try self.init { exchange in
            exchange.readBody()
            exchange.respond(200)
        }
    }

    func url(_ path: String = "/") -> URL {
        URL(string: "http://127.0.0.1:\(self.server.port)\(path)") ?? URL(fileURLWithPath: "/")
    }

    /// Ends all connections. Handlers that wait for something else end on their own.
    func stop() { self.server.stop() }

    /// How many requests there were before for `path`.
    fileprivate func nextNumber(of path: String) -> Int {
        self.counts.withLock { counts in
            defer { counts[path, default: 0] += 1 }
            return counts[path, default: 0]
        }
    }

    private func serve(_ connection: HTTPConnection) {
        while let request = connection.readHead() {
            let exchange = HTTPExchange(connection, request, number: self.nextNumber(of: request.path))
            self.handler(exchange)
            self.requests.append(exchange.request)
            guard exchange.keepsConnection else { break }
        }
    }
}

/// One request and its answer, for a handler.
final class HTTPExchange {
    private(set) var request: ReceivedRequest
    /// How many requests for the same path there were before.
    let number: Int
    private(set) var keepsConnection = true
    /// Neither the end of the body nor that of the connection has been met.
    private(set) var hasMoreBody: Bool
    private let connection: HTTPConnection
    private var body: HTTPBody
    private var isAwaitingContinue: Bool

    init(_ connection: HTTPConnection, _ request: ReceivedRequest, number: Int) {
        self.connection = connection
        self.request = request
        self.number = number
        self.body = HTTPBody(request)
        self.isAwaitingContinue = request.value(of: "Expect")?.lowercased() == "100-continue"
        self.request.isBodyComplete = self.body.isComplete
        self.hasMoreBody = !self.body.isComplete
    }

    /// Reads at least `count` bytes of the body, or what there is of it; without a count, all.
    ///
    /// A client that waits for a 100 gets it first, or otherwise sends on its own after a while.
    func readBody(atLeast count: Int = .max, continuing: Bool = true) {
        if self.isAwaitingContinue, continuing, !self.body.isComplete {
            self.connection.write("HTTP/1.1 100 Continue\r\n\r\n")
        }
        self.isAwaitingContinue = false
        while self.request.body.count < count, self.hasMoreBody { self.readMore() }
    }

    private func readMore() {
        let bytes = self.body.read(from: self.connection)
        if let bytes { self.request.body.append(bytes) }
        self.request.isBodyComplete = self.body.isComplete
        self.hasMoreBody = bytes != nil && !self.body.isComplete
        if bytes == nil, !self.body.isComplete { self.keepsConnection = false }
    }

    /// Answers. `Content-Length` is added; the connection stays open unless a header says that it does not.
    func respond(_ status: Int, _ headers: [(name: String, value: String)] = [], body: Data = Data()) {
        var head = "HTTP/1.1 \(status) Status\r\nContent-Length: \(body.count)\r\n"
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        self.connection.write(Data((head + "\r\n").utf8) + body)
        if headers.contains(where: { $0.name == "Connection" && $0.value == "close" }) { self.keepsConnection = false }
    }

    /// Says that nothing more will come, and waits until the client has gone: its answer is not lost to a reset.
    func linger() {
        self.keepsConnection = false
        self.connection.endWriting()
        while self.hasMoreBody { self.readMore() }
    }

    /// Ends the connection without a word.
    func drop() { self.keepsConnection = false }
}
