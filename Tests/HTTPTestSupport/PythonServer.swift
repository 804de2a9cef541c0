import BlobCore
import Foundation

/// A server that is a process of Python: its own `http.server`, or one that never ends an answer.
package final class PythonServer: Sendable {
    package enum Kind: Sendable {
        /// `http.server`, which knows no ranges, over a folder.
        case files(String)
        /// The same over TLS, with the certificate of ``authority``.
        case filesOverTLS(String)
        /// Sends the head and the first byte of an answer, and then nothing.
        case stalled
    }

    /// The path of the certificate of the authority behind ``Kind/filesOverTLS(_:)``.
    package static let authority = certificates.appendingPathComponent("authority.pem").path

    private static let certificates = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Certificates")

    package let port: UInt16
    /// The standard input of the process, which ends with it.
    private let input: FileHandle
    private let process: HandedOver<Process>  // Kept until it ends, and not used.

    package init(_ kind: Kind) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let arguments =
            switch kind {
            case .files(let folder): [Self.files, folder, ""]
            case .filesOverTLS(let folder):
                [Self.files, folder, Self.certificates.appendingPathComponent("server.pem").path]
            case .stalled: [Self.stalled]
            }
        process.arguments = ["python3", "-c", Self.watch + arguments[0]] + arguments.dropFirst()
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        (self.input, self.process) = (input.fileHandleForWriting, HandedOver(process))
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = UInt16(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BlobError(.unavailable, "The server of Python did not start.")
        }
        self.port = port
    }

    deinit { try? self.input.close() }

    /// Ends the process with its standard input: the one that was started may be a script around Python.
    private static let watch = """
        import os, sys, threading
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()

        """

    private static let files = """
        import functools, http.server, ssl, sys
        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
        handler = functools.partial(Handler, directory=sys.argv[1])
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        if sys.argv[2]:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[2])
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    private static let stalled = """
        import asyncio
        async def serve(reader, writer):
            await reader.readuntil(b'\\r\\n\\r\\n')
            writer.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 1000\\r\\n\\r\\nx')
            await reader.read()
        async def main():
            server = await asyncio.start_server(serve, '127.0.0.1', 0, backlog=1024)
            print(server.sockets[0].getsockname()[1], flush=True)
            await server.serve_forever()
        asyncio.run(main())
        """
}
