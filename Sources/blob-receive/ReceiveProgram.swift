import ArgumentParser
import BlobCommandLine
import BlobReceiving
import BlobStreams
import Foundation

/// The program `blob-receive`: prints its URL, then one line of JSON for each part that has arrived completely.
@main
struct ReceiveProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blob-receive",
        abstract: "Receives uploads for experiments and tests: raw bodies and forms.",
        discussion: """
            Prints its URL first, then one line of JSON for each part that has arrived completely, which is also the \
            answer to the sender. Accepts PUT and POST at any path. Without --directory, nothing is stored. Bytes are \
            stored and hashed as received: a Content-Encoding is not decoded.
            """)

    @Option(help: "The address to listen on, HOST:PORT; port 0 selects a free one.")
    var listen = "127.0.0.1:0"

    @Option(help: "Store what arrives in this folder; existing files are not replaced.")
    var directory: String?

    @Option(help: "Refuse a body with more bytes than this.")
    var maxBytes: Int64?

    @Option(help: "Refuse a body of which nothing arrives for this many seconds.")
    var idleTimeout = 30.0

    @Option(help: "Close a connection on which no complete header arrives for this many seconds.")
    var headerTimeout = 10.0

    func validate() throws {
        guard self.maxBytes ?? 0 >= 0 else { throw ValidationError("--max-bytes cannot be negative.") }
        for value in [self.idleTimeout, self.headerTimeout] where !(value > 0 && value <= 1_000_000_000) {
            throw ValidationError("A timeout is a number above 0, at most 1000000000.")
        }
    }

    func run() throws {
        Self.endOnSignals()
        do {
            let settings = ReceivingServer.Settings(
                folder: try self.directory.map(Self.existingFolder), maximumByteCount: self.maxBytes,
                idleTimeout: self.idleTimeout, headerTimeout: self.headerTimeout)
            let (host, port) = try Self.address(self.listen)
            try ReceivingServer(settings).run(host: host, port: port) { printLine($0) }
        } catch {
            end(with: BlobError(wrapping: error))
        }
    }

    /// Parses `HOST:PORT`, where the host may be an IPv6 address in brackets.
    private static func address(_ text: String) throws(BlobError) -> (host: String, port: Int) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw BlobError(.invalidArgument, "'\(text)' is not HOST:PORT.")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw BlobError(.invalidArgument, "'\(text)' is not HOST:PORT.") }
        return (String(host), Int(port))
    }

    private static func existingFolder(_ path: String) throws(BlobError) -> String {
        guard let real = realpath(path, nil) else {
            throw BlobError(systemError: errno, doing: "Could not open \(path)")
        }
        defer { free(real) }
        var status = stat()
        guard stat(real, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw BlobError(.invalidArgument, "\(path) is no folder.")
        }
        return String(cString: real)
    }

    /// Lets signals end the process, after files that have not arrived completely are removed.
    private static func endOnSignals() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, number) }
        // Blocked before there are other threads, so that only the one below receives them.
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let waited = signals
        Thread.detachNewThread {
            var (waited, number) = (waited, CInt(0))
            guard sigwait(&waited, &number) == 0 else { return }
            PartFile.discardAll()
            _exit(128 + number)
        }
    }
}

private let outputLock = NSLock()

/// Prints a line, or the lines of one request, without interruption; ends the process when that fails.
private func printLine(_ line: String) {
    outputLock.lock()
    defer { outputLock.unlock() }
    do {
        try Array("\(line)\n".utf8).withUnsafeBytes { try writeAll($0, to: STDOUT_FILENO, named: "standard output") }
    } catch {
        end(with: BlobError(wrapping: error))
    }
}

private func end(with error: BlobError) -> Never {
    PartFile.discardAll()
    if error.systemErrorNumber != EPIPE {
        try? Array("blob-receive: \(error)\n".utf8).withUnsafeBytes {
            try writeAll($0, to: STDERR_FILENO, named: "standard error")
        }
    }
    exit(error.code.exitStatus)
}
