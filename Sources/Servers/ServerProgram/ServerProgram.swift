#if Receiver
package import ArgumentParser
import BlobCommandLine
package import BlobCore
import BlobPlatform
package import BlobStreamsNIO

/// A program that serves clients until it is ended.
package protocol ServerProgram: ParsableCommand {
    /// The command of `blob` that runs this program, such as `receive`.
    static var command: String { get }

    /// Ends the work in progress before the process ends.
    static func cleanUp()
}

extension ServerProgram {
    package static func cleanUp() {}

    /// The name of the program in messages, which is `blob` if that command runs it.
    package static var programName: String {
        CommandLine.arguments.first == "blob \(self.command)" ? "blob" : "blob-\(self.command)"
    }

    package static func main() {
        do {
            var command = try self.parseAsRoot()
            try command.run()
        } catch  where self.exitCode(for: error).isSuccess {
            // Help is not an error.
            let text = self.fullMessage(for: error)
            let path = self.programName == "blob" ? "blob \(self.command)" : self.programName
            let help = CommandHelp(of: self, path: path, for: Array(CommandLine.arguments.dropFirst()))
            print(text.hasPrefix("OVERVIEW: ") ? help.text : text)
        } catch let error as BlobError {
            self.end(with: error)
        } catch {
            self.end(
                with: BlobError(.invalidArgument, self.message(for: error).replacing("\n   or: ", with: "; or: ")))
        }
    }

    /// Serves until a signal ends the process.
    ///
    /// - Throws: ``BlobError/Code/io`` if the system closes the socket of the server.
    package static func serve(_ listening: HTTPServer.Listening) throws {
        try listening.wait()
        throw BlobError(.io, "The server no longer listens on \(listening.url).")
    }

    /// Prints an error and ends the process with its status.
    package static func end(with error: BlobError) -> Never {
        self.cleanUp()
        if error.systemErrorNumber != EPIPE {
            try? writeAll(Array("\(self.programName): \(error)\n".utf8), to: STDERR_FILENO, named: "standard error")
        }
        exitProcess(error.code.exitStatus)
    }
}

private func exitProcess(_ status: CInt) -> Never { exit(status) }

/// The options that all servers have.
package struct ServerOptions: ParsableArguments {
    /// The number of descriptors for a connection: its socket, a file and its folder, and an index.
    private static let descriptorCount = 4

    /// The number of descriptors that the process needs in addition to its connections.
    private static let otherDescriptorCount = 64

    @Option(help: ArgumentHelp("Listen on this address; port 0 selects a free one.", valueName: "host:port"))
    package var listen = "127.0.0.1:0"

    @Option(help: ArgumentHelp("Answer further connections with 503 when this many are open.", visibility: .hidden))
    private var maxConnections = HTTPServer.Limits().maximumConnectionCount

    @Option(
        help: ArgumentHelp(
            "End a request when no bytes of its body or of its response are transferred for this many seconds.",
            visibility: .hidden))
    private var idleTimeout = HTTPServer.Limits().idleTimeout / .seconds(1)

    @Option(
        help: ArgumentHelp(
            "End a request that transfers fewer bytes per second over the idle timeout; 0 for no minimum.",
            visibility: .hidden))
    private var minRate = HTTPServer.Limits().minimumRate

    @Option(
        help: ArgumentHelp(
            "Close a connection on which no complete header arrives within this many seconds.", visibility: .hidden))
    private var headerTimeout = HTTPServer.Limits().headerTimeout / .seconds(1)

    package init() {}

    package func validate() throws {
        guard self.minRate >= 0 else { throw ValidationError("--min-rate must not be negative.") }
        guard (1...100_000).contains(self.maxConnections) else {
            throw ValidationError("--max-connections must be a number from 1 to 100000.")
        }
        for value in [self.idleTimeout, self.headerTimeout] where !(value > 0 && value <= 1_000_000_000) {
            throw ValidationError("A timeout must be above 0 and at most 1000000000 seconds.")
        }
        _ = try self.address
    }

    /// The limits in the options. Raises the limit of open descriptors accordingly.
    package func limits() -> HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        limits.maximumConnectionCount = self.maxConnections
        limits.idleTimeout = .seconds(self.idleTimeout)
        limits.minimumRate = self.minRate
        limits.headerTimeout = .seconds(self.headerTimeout)
        raiseDescriptorLimit(
            to: self.maxConnections * Self.descriptorCount + HTTPServer.maximumBusyCount + Self.otherDescriptorCount)
        return limits
    }

    /// The address, in which the host may be an IPv6 address in brackets.
    package var address: (host: String, port: Int) {
        get throws(BlobError) {
            let error = BlobError(.invalidArgument, "Invalid address '\(self.listen)': expected HOST:PORT.")
            guard let colon = self.listen.lastIndex(of: ":"),
                let port = UInt16(self.listen[self.listen.index(after: colon)...])
            else { throw error }
            var host = self.listen[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
            guard !host.isEmpty else { throw error }
            return (String(host), Int(port))
        }
    }
}
#endif
