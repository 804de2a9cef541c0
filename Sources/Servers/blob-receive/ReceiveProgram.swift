#if Receiver
import ArgumentParser
import BlobCommandLine
import BlobCore
import BlobPlatform
import BlobReceiving
import BlobStreamsNIO
import ServerProgram

/// The `blob-receive` program. It prints its URL, then one line of JSON for each part that has arrived completely.
@main
struct ReceiveProgram: ServerProgram {
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

    @Option(
        help: ArgumentHelp(
            "Store received bodies in this folder.",
            discussion: """
                The folder is created if it is missing; existing files are not replaced. Parts left behind by \
                receivers that were killed are removed.
                """, valueName: "folder"))
    var directory: String?

    @Option(help: "Refuse a body with more than this many bytes.")
    var maxBytes = UploadService.defaultMaximumByteCount

    @OptionGroup var server: ServerOptions

    static let command = "receive"

    static func cleanUp() { ReceiverLock.discardAll() }

    func validate() throws {
        guard self.maxBytes >= 0 else { throw ValidationError("--max-bytes must not be negative.") }
    }

    func run() throws {
        let signals = EndingSignals()
        signals.block()  // Before other threads start.
        let printer = LinePrinter { Self.end(with: BlobError(wrapping: $0)) }
        // If this closure does not run, the next receiver to start removes the remaining files.
        signals.handleFirst { number in
            printer.drain(for: Self.drainLimit)
            ReceiverLock.discardAll()
            _exit(128 + number)
        }
        let (host, port) = try self.server.address
        let service = try UploadService(folder: self.directory, maximumByteCount: self.maxBytes)
        let server = HTTPServer(service, limits: self.server.limits()) { answer in
            if !answer.lines.isEmpty { printer.print(answer.lines) }
        }
        let listening = try server.listen(host: host, port: port)
        printer.print(listening.url)
        try Self.serve(listening)
    }

    /// The time for the reader of standard output to finish after a signal.
    private static let drainLimit = Duration.seconds(1)
}
#else
import BlobCommandLine

/// The program in a build without its package traits.
@main enum Main {
    static func main() { endWithoutTrait("trait Receiver", "blob-receive") }
}
#endif
