#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import CHelper

struct ReceiveCommand: ParsableCommand {
    static let program = "blob-receive"

    static let configuration = CommandConfiguration(
        commandName: "receive", abstract: "Receives uploads, for experiments and tests.",
        discussion: "All arguments are passed to blob-receive: see 'blob receive --help'.")

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []

    func run() throws {
        // The receiver replaces this process: it inherits the standard descriptors and signals, and sets the status.
        let beside = blob_executable_path().map { path in
            URL(fileURLWithPath: String(cString: path)).deletingLastPathComponent()
                .appendingPathComponent(Self.program).path
        }
        for program in [beside, Self.program].compactMap({ $0 }) {
            // The receiver uses this name in its messages.
            var words = (["blob receive"] + self.arguments).map { strdup($0) } + [nil]
            execvp(program, &words)
            let number = errno
            for word in words { free(word) }
            guard number == ENOENT else { throw BlobError(systemError: number, doing: "Could not start \(program)") }
        }
        throw BlobError(
            .unavailable,
            "Could not find the program \(Self.program) next to blob or in PATH; 'swift build --product "
                + "\(Self.program)' builds it.", isTransient: false)
    }
}
#endif
