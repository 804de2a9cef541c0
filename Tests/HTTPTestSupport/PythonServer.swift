import BlobCore
import Foundation

/// A server that is a process of Python: its own `http.server`, one that never ends an answer, or one that adds TLS.
package final class PythonServer: Sendable {
    package enum Kind: Sendable {
        /// `http.server`, which knows no ranges, over a folder.
        case files(String)
        /// The same over TLS, with the certificate of ``authority``.
        case filesOverTLS(String)
        /// The same for clients that have the certificate of ``client``.
        case filesForClients(String)
        /// Sends the head and the first byte of an answer, and then nothing.
        case stalled
        /// Passes what comes over TLS, with the certificate of ``authority``, on to a port of this machine.
        case tunnel(UInt16)
        /// The same by nghttpx, which speaks HTTP/2 to clients.
        case http2(UInt16)
    }

    /// The path of the certificate of the authority behind ``Kind/filesOverTLS(_:)``.
    package static let authority = certificates.appendingPathComponent("authority.pem").path

    /// The path of the certificate and the key of the client of ``Kind/filesForClients(_:)``.
    package static let client = certificates.appendingPathComponent("client.pem").path

    private static let certificates = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Certificates")

    package let port: UInt16
    /// The standard input of the process, which ends with it.
    private let input: FileHandle
    private let process: UnsafeTransfer<Process>  // Kept until it ends, and not used.

    package init(_ kind: Kind) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let arguments =
            switch kind {
            case .files(let folder): [Self.files, folder]
            case .filesOverTLS(let folder):
                [Self.files, folder, Self.certificates.appendingPathComponent("server.pem").path]
            case .filesForClients(let folder):
                [Self.files, folder, Self.certificates.appendingPathComponent("server.pem").path, Self.client]
            case .stalled: [Self.stalled]
            case .tunnel(let port):
                [Self.tunnel, "\(port)", Self.certificates.appendingPathComponent("server.pem").path]
            case .http2(let port):
                [Self.http2, "\(port)", Self.certificates.appendingPathComponent("server.pem").path]
            }
        process.arguments = ["python3", "-c", Self.watch + arguments[0]] + arguments.dropFirst()
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        (self.input, self.process) = (input.fileHandleForWriting, UnsafeTransfer(process))
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

    /// nghttpx takes no port from the system, and ends with this process.
    private static let http2 = """
        import socket, subprocess
        probe = socket.socket()
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
        probe.close()
        arguments = ['--no-ocsp', '--conf=/dev/null', f'-f127.0.0.1,{port}', f'-b127.0.0.1,{sys.argv[1]}', sys.argv[2], sys.argv[2]]
        process = subprocess.Popen(['setpriv', '--pdeathsig', 'KILL', 'nghttpx', '--single-process', *arguments],
                                   stderr=subprocess.PIPE)
        for line in process.stderr:
            if b'Listening' in line:
                print(port, flush=True)

        """

    /// Stores what is put, makes the folders for it, and answers with the fields of the request. Redirects from `/to/`.
    private static let files = """
        import base64, functools, hashlib, http.server, os, ssl, sys
        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def body(self):
                if 'Content-Length' in self.headers: return self.rfile.read(int(self.headers['Content-Length']))
                body = b''
                while count := int(self.rfile.readline(), 16):
                    body += self.rfile.read(count)
                    self.rfile.readline()
                self.rfile.readline()
                return body
            def do_PUT(self):
                body, path = self.body(), self.translate_path(self.path)
                if self.path.startswith('/to/'):
                    self.send_response(307)
                    self.send_header('Location', self.path[4:])
                    self.send_header('Content-Length', '0')
                    return self.end_headers()
                if self.headers['If-None-Match'] == '*' and os.path.exists(path):
                    self.send_response(412)
                    self.send_header('Content-Length', '0')
                    return self.end_headers()
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'wb') as file: file.write(body)
                answer = ''.join(f'{name}: {value}\\n' for name, value in self.headers.items()).encode()
                self.send_response(201)
                self.send_header('Content-Length', str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
            def end_headers(self):
                path = self.translate_path(self.path)
                if self.command == 'HEAD' and os.path.isfile(path) and 'without' not in path:
                    with open(path, 'rb') as file: digest = hashlib.sha256(file.read()).digest()
                    self.send_header('Repr-Digest', f'sha-256=:{base64.b64encode(digest).decode()}:')
                super().end_headers()
        handler = functools.partial(Handler, directory=sys.argv[1])
        # With the five of a default, connections that are made at once may be reset.
        http.server.ThreadingHTTPServer.request_queue_size = 128
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        if len(sys.argv) > 2:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[2])
            if len(sys.argv) > 3:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(sys.argv[3])
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

    private static let tunnel = """
        import asyncio, ssl, sys
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2])
        async def copy(reader, writer):
            try:
                while data := await reader.read(1 << 18):
                    writer.write(data)
                    await writer.drain()
            except OSError:
                pass
            writer.close()
        async def serve(reader, writer):
            target_reader, target_writer = await asyncio.open_connection('127.0.0.1', int(sys.argv[1]))
            await asyncio.gather(copy(reader, target_writer), copy(target_reader, writer))
        async def main():
            server = await asyncio.start_server(serve, '127.0.0.1', 0, ssl=context)
            print(server.sockets[0].getsockname()[1], flush=True)
            await server.serve_forever()
        asyncio.run(main())
        """
}
