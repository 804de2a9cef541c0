#if Receiver
import ArgumentParser
import BlobCommandLine
import BlobCore
import BlobPlatform
import BlobReceiving

/// The `blob-receive` program. It prints its URL, then one line of JSON for each part that has arrived completely.
@main
struct ReceiveProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blob-receive",
        abstract: "Receives uploads for experiments and tests: raw bodies, forms and resumable uploads.",
        discussion: """
            Prints its URL first, then one line of JSON for each part that has been received completely.

            The sender gets the same lines as the response. Accepts PUT and POST at any path. Without --directory, nothing is \
            stored. Bytes are stored and hashed as received: a Content-Encoding is not decoded. If standard output \
            is not read, lines are dropped while more than 16 MiB are waiting.

            All files are stored in the folder itself. A raw body is named after the last component of its path, and \
            a part of a form after its file name; letters, digits and -._+,=@~ are kept, and all other characters \
            are written as %XX, as is a '.' or '-' at the beginning. Further files with the same name are named \
            NAME-2, NAME-3 and so on. HEAD at the path of a raw body that this process stored returns the length and \
            Repr-Digest of the last one, so that 'blob upload --skip-existing' sends it only once.

            With --directory, a POST with 'Tus-Resumable: 1.0.0' at any path creates a resumable upload (tus 1.0.0 \
            with creation, creation-with-upload, termination, checksum by sha256 or sha1, and concatenation), and so \
            does a POST or PUT with 'Upload-Complete', according to the draft "Resumable Uploads for HTTP" (interop \
            versions 6 to 8). The URL of the upload begins with /files/. Its bytes are kept in hidden files in the \
            folder for a week after the last byte, even if the sender or this process is killed; so are the parts of a \
            concatenation, until they are deleted. A PATCH at the right offset ends an earlier one.

            EXAMPLES:
              blob receive --directory received
              blob receive --listen 0.0.0.0:8080 --max-bytes 1000000000
            """,
        version: commandVersion)

    static func main() {
        do {
            var command = try self.parseAsRoot()
            try command.run()
        } catch  where self.exitCode(for: error).isSuccess {
            // Help is not an error.
            let text = self.fullMessage(for: error)
            let path = programName == "blob" ? "blob receive" : programName
            let help = CommandHelp(of: self, path: path, for: Array(CommandLine.arguments.dropFirst()))
            print(text.hasPrefix("OVERVIEW: ") ? help.text : text)
        } catch {
            end(with: BlobError(.invalidArgument, self.message(for: error).replacing("\n   or: ", with: "; or: ")))
        }
    }

    @Option(help: ArgumentHelp("Listen on this address; port 0 selects a free one.", valueName: "host:port"))
    var listen = "127.0.0.1:0"

    @Option(
        help: ArgumentHelp(
            "Store received bodies in this folder.",
            discussion: """
                The folder is created if it is missing; existing files are not replaced. Parts left behind by \
                receivers that were killed are removed.
                """, valueName: "folder"))
    var directory: String?

    @Option(help: "Refuse a body with more than this many bytes.")
    var maxBytes: Int64 = 64 << 30

    @Option(help: "Answer further connections with 503 when this many are open.")
    var maxConnections = 512

    @Option(help: "Refuse a body when no bytes of it arrive for this many seconds.")
    var idleTimeout = 30.0

    // The same rate that Apache's mod_reqtimeout requires.
    @Option(
        help: "Refuse a body that arrives at fewer bytes per second, averaged over the idle timeout; 0 for no minimum.")
    var minRate: Int64 = 500

    @Option(help: "Close a connection on which no complete header arrives within this many seconds.")
    var headerTimeout = 10.0

    func validate() throws {
        guard self.maxBytes >= 0 else { throw ValidationError("--max-bytes must not be negative.") }
        guard self.minRate >= 0 else { throw ValidationError("--min-rate must not be negative.") }
        guard (1...100_000).contains(self.maxConnections) else {
            throw ValidationError("--max-connections must be a number from 1 to 100000.")
        }
        for value in [self.idleTimeout, self.headerTimeout] where !(value > 0 && value <= 1_000_000_000) {
            throw ValidationError("A timeout must be above 0 and at most 1000000000 seconds.")
        }
    }

    func run() throws {
        let signals = EndingSignals()
        signals.block()  // Before other threads start.
        let printer = LinePrinter { end(with: BlobError(wrapping: $0)) }
        // If this closure does not run, the next receiver to start removes the remaining files.
        signals.handleFirst { number in
            printer.drain(for: Self.drainLimit)
            ReceiverLock.discardAll()
            _exit(128 + number)
        }
        do {
            let (host, port) = try Self.address(self.listen)
            let folder = try self.directory.map(ReceiverLock.claim)
            let settings = ReceivingServer.Settings(
                folder: folder, uploads: folder.map { ResumableUploads(in: $0, maximumByteCount: self.maxBytes) },
                storedFiles: folder.map { _ in StoredFiles() },
                maximumByteCount: self.maxBytes, maximumConnectionCount: self.maxConnections,
                idleTimeout: self.idleTimeout, minimumRate: self.minRate, headerTimeout: self.headerTimeout)
            try ReceivingServer(settings).run(host: host, port: port) { printer.print($0) }
        } catch {
            end(with: BlobError(wrapping: error))
        }
    }

    /// Parses `HOST:PORT`, in which the host may be an IPv6 address in brackets.
    private static func address(_ text: String) throws(BlobError) -> (host: String, port: Int) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw BlobError(.invalidArgument, "Invalid address '\(text)': expected HOST:PORT.")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw BlobError(.invalidArgument, "Invalid address '\(text)': expected HOST:PORT.") }
        return (String(host), Int(port))
    }

    /// The time for the reader of standard output to finish after a signal.
    private static let drainLimit = Duration.seconds(1)
}

/// The name of the program in messages, which is `blob` if that command runs it.
let programName = CommandLine.arguments.first == "blob receive" ? "blob" : "blob-receive"

private func end(with error: BlobError) -> Never {
    ReceiverLock.discardAll()
    if error.systemErrorNumber != EPIPE {
        try? writeAll(Array("\(programName): \(error)\n".utf8), to: STDERR_FILENO, named: "standard error")
    }
    exit(error.code.exitStatus)
}
#else
import BlobCommandLine

/// The program in a build without its package traits.
@main enum Main {
    static func main() { endWithoutTrait("trait Receiver", "blob-receive") }
}
#endif
