import BlobStreams
import BlobTestSupport
import Foundation

/// A server of tus 1.0.0, or of the IETF's draft, with one upload at a time, which fails as a test says.
final class TusServer: Sendable {
    enum Fault: Sendable {
        /// Resets the connection after so many bytes of the body, which are kept.
        case cut(after: Int)
        case status(Int)
        /// Answers so, and keeps nothing.
        case text(String)
        /// Takes the whole body, keeps nothing, and answers so.
        case swallow(String)
        case none
    }

    private struct State {
        var stored: [UInt8] = []
        var requests: [String] = []
        var metadata: Substring?
        var byteCount = 0
    }

    private let server: ScriptedServer
    private let state: Locked<State>

    var url: String { self.server.url }

    /// The bytes of the upload.
    var stored: [UInt8] { self.state.withLock { $0.stored } }

    /// The methods of all requests.
    var requests: [String] { self.state.withLock { $0.requests } }

    /// The last `Upload-Metadata`.
    var metadata: Substring? { self.state.withLock { $0.metadata } }

    /// - Parameters:
    ///   - version: The only interop version of the draft that it speaks; nil is tus.
    ///   - unknownStatus: The status for any other version.
    ///   - fault: Returns what is wrong with a request, by its number from 0 and its method.
    init(
        version: String? = nil, unknownStatus: Int = 400, _ fault: @escaping @Sendable (Int, String) -> Fault
    ) throws {
        let state = Locked(State())
        self.state = state
        self.server = try ScriptedServer { connection in
            connection.receiveBody(0)
            let head = String(decoding: connection.received.prefix(4096), as: UTF8.self)
            let method = String(head.prefix { $0 != " " })
            // Asked for the extensions: it has none, whatever the fault.
            if method == "OPTIONS" { return connection.send("HTTP/1.1 204 No\r\nTus-Version: 1.0.0\r\n\r\n") }
            let number = state.withLock { state in
                state.requests.append(method)
                return state.requests.count - 1
            }
            if let version, !head.contains("\r\nUpload-Draft-Interop-Version: \(version)\r\n") {
                let line = unknownStatus == 400 ? "" : "Upload-Draft-Interop-Version: \(version)\r\n"
                return connection.send("HTTP/1.1 \(unknownStatus) X\r\n\(line)Content-Length: 0\r\n\r\n")
            }
            Self.serve(connection, head, method, fault(number, method), state)
        }
    }

    private static func serve(
        _ connection: ScriptedServer.Connection, _ head: String, _ method: String, _ fault: Fault,
        _ state: Locked<State>
    ) {
        func value(_ name: String) -> Substring? {
            head.split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }?.dropFirst(name.count + 2)
        }
        switch fault {
        case .text(let text): return connection.send(text)
        case .status(let status): return connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
        case .cut where method != "PATCH": return connection.reset()
        case .swallow(let text):
            connection.receiveBody(value("Content-Length").flatMap { Int($0) } ?? 0)
            return connection.send(text)
        case .cut, .none: break
        }
        if method == "POST" {
            let byteCount = value("Upload-Length").flatMap { Int($0) } ?? 0
            state.withLock { ($0.stored, $0.metadata, $0.byteCount) = ([], value("Upload-Metadata"), byteCount) }
            return connection.send("HTTP/1.1 201 Created\r\nLocation: /x/1\r\nContent-Length: 0\r\n\r\n")
        }
        if method == "PATCH" {
            guard value("Upload-Offset").flatMap({ Int($0) }) == state.withLock({ $0.stored.count }) else {
                return connection.send("HTTP/1.1 409 X\r\nContent-Length: 0\r\n\r\n")
            }
            var byteCount = value("Content-Length").flatMap { Int($0) } ?? 0
            if case .cut(let count) = fault { byteCount = min(byteCount, count) }
            connection.receiveBody(byteCount)
            let body = connection.body?.prefix(byteCount) ?? []
            state.withLock { $0.stored += body }
            if case .cut = fault { return connection.reset() }
        }
        let (offset, byteCount) = state.withLock { ($0.stored.count, $0.byteCount) }
        let complete = "Upload-Complete: ?\(offset == byteCount ? 1 : 0)"
        connection.send("HTTP/1.1 200 OK\r\nUpload-Offset: \(offset)\r\n\(complete)\r\nContent-Length: 0\r\n\r\n")
    }
}
