#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import CHelper

/// A command that another program carries out, because its dependencies would make `blob` larger.
protocol ServerCommand: ParsableCommand {
    var arguments: [String] { get }
}

extension ServerCommand {
    func run() throws {
        let command = Self.configuration.commandName ?? ""
        let name = "blob-\(command)"
        // The program replaces this process: it inherits the standard descriptors and signals, and sets the status.
        let beside = blob_executable_path().map { path in
            URL(fileURLWithPath: String(cString: path)).deletingLastPathComponent().appendingPathComponent(name).path
        }
        for program in [beside, name].compactMap({ $0 }) {
            // The program uses this name in its messages.
            var words = (["blob \(command)"] + self.arguments).map { strdup($0) } + [nil]
            execvp(program, &words)
            let number = errno
            for word in words { free(word) }
            guard number == ENOENT else { throw BlobError(systemError: number, doing: "Could not start \(program)") }
        }
        throw BlobError(
            .unavailable,
            "Could not find the program \(name) next to blob or in PATH; 'swift build --product \(name)' builds it.",
            isTransient: false)
    }
}

struct ReceiveCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "receive", abstract: "Receives uploads, for experiments and tests.",
        discussion: "All arguments are passed to blob-receive: see 'blob receive --help'.")

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

struct ServeCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves sources, and the members of archives, to browsers and other programs.",
        discussion: "All arguments are passed to blob-serve: see 'blob serve --help'.")

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}
#endif
