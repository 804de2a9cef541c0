#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob upload --resumable tus` to a server that others made: `tuspyserver` (PyPI), where Python has it.
@Suite(.timeLimit(.minutes(5))) struct TusPeerTests {
    private static let program = """
        import socket, sys, uvicorn
        from fastapi import FastAPI
        from tuspyserver import create_tus_router
        app = FastAPI()
        app.include_router(create_tus_router(prefix='files', files_dir=sys.argv[1]))
        listener = socket.socket()
        listener.bind(('127.0.0.1', 0))
        listener.listen()
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level='error')).run(sockets=[listener])
        """

    private static let hasPeer = (try? FinishedProcess("python3", ["-c", "import tuspyserver, uvicorn"]).status) == 0

    @Test(.enabled(if: hasPeer, "Python's tuspyserver and uvicorn are not there."), arguments: [0, 1, 3_000_000])
    func aPeerHasWhatIsUploaded(byteCount: Int) throws {
        let (folder, store) = (try TemporaryFolder(), try TemporaryFolder())
        let server = try Launch("python3", "-c", Self.program, store.path).with { $0.program = "/usr/bin/env" }.start()
        defer { server.send(SIGKILL) }
        server.waitForLines(1)
        let port = try #require(server.lines.first.flatMap { UInt16($0) })
        let bytes = makeContent(byteCount)
        let path = try folder.write(bytes, to: "naïve.bin")
        func start(_ port: UInt16, _ arguments: String...) throws -> RunningProcess {
            let target = ["--state", folder.path("state"), path, "http://127.0.0.1:\(port)/files/"]
            return try Launch(["upload", "--resumable", "tus"] + target + arguments).start()
        }
        // Each connection ends early; the answers have the address to which the client was connected.
        let proxy = try FaultProxy(to: port) { number in
            FaultProxy.ConnectionFaults(toServer: LinkFaults { $0.cutOffset = number < 4 ? 700_000 : nil })
        }
        if byteCount > 1 {
            let client = try start(proxy.port, "--limit-rate", "1M")
            client.wait { proxy.counts.toServerByteCount > 300_000 }
            client.send(SIGKILL)
            _ = client.finish()
            #expect(folder.names.contains("state"))
        }
        let outcome = try start(proxy.port).finish()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        let identifier = try #require(outcome.text.split(separator: "/").last?.dropLast())
        let isEqual = FileManager.default.contents(atPath: store.path(String(identifier))) == Data(bytes)
        #expect(isEqual, "\(store.names) \(outcome.errorText)")
    }
}
#endif
