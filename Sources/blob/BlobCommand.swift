import ArgumentParser
import BlobCommandLine
import BlobStreamsStandard
import Foundation

/// The command `blob`.
struct BlobCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blob",
        abstract: "Reads any bytes, from anywhere, as one stream.",
        discussion: """
            A LOCATOR is a path, '-' for standard input, or a URL such as file:///x.bin. An error is one line on \
            standard error; the exit status is its kind (64 usage, 65 data, 66 not found, 69 unavailable, 70 software, \
            74 input or output, 75 try again, 76 refused by a server, 77 permission, 130 interrupted).
            """,
        subcommands: [
            CatCommand.self, ListCommand.self, InfoCommand.self, SumCommand.self, FormCommand.self,
            IndexCommand.self, UploadCommand.self, ReceiveCommand.self, LibraryCommand.self, SchemesCommand.self,
            CheckCommand.self,
        ])
}

@main
enum Main {
    static func main() {
        ProcessSetup.run()
        do {
            try self.run()
        } catch let error as BlobError {
            fail(error)
        } catch let status as ExitCode {
            exit(status.rawValue)
        } catch {
            fail(BlobError(.invalidArgument, BlobCommand.message(for: error)))
        }
    }

    private static func run() throws {
        do {
            var command = try BlobCommand.parseAsRoot(RawArguments.decoded())
            try command.run()
        } catch  where BlobCommand.exitCode(for: error).isSuccess {
            // Help is not an error.
            try printLine(BlobCommand.fullMessage(for: error))
        }
    }

    private static func fail(_ error: BlobError) -> Never {
        while !Interrupts.claimReport() { pause() }  // The thread that handles interrupts is ending the process.
        report(error)
        exit(Interrupts.exitStatus ?? error.code.exitStatus)
    }
}

/// The modules of the schemes that a build can leave out, as errors name these.
private let optionalModules = [
    "'assets-library'": "AssetLibrarySource", "'http'": "HTTPSource (with the headers of libcurl)",
    "'https'": "HTTPSource (with the headers of libcurl)", "'s3'": "S3Source (with the headers of libcurl)",
]

/// Prints an error as one line on standard error; names the module of a scheme that this build leaves out.
func report(_ error: BlobError) {
    var error = error
    let message = error.message
    if error.code == .notRegistered, let (_, module) = optionalModules.first(where: { message.contains($0.key) }) {
        error = BlobError(
            error.code, "\(error.message) The module \(module), which this build leaves out, has that scheme.",
            operation: error.operation, locator: error.locator, byteOffset: error.byteOffset, cause: error.cause)
    }
    printToStandardError("blob: \(error)\n")
}

/// Prints to standard error; a failure is ignored, since it cannot be reported.
func printToStandardError(_ text: String) {
    try? Array(text.utf8).withUnsafeBytes { try writeAll($0, to: STDERR_FILENO, named: "standard error") }
}

/// Prints a line of results; unlike `print`, throws when it cannot be written.
func printLine(_ line: String) throws(BlobError) {
    do {
        try Array("\(line)\n".utf8).withUnsafeBytes {
            try writeAll($0, to: STDOUT_FILENO, named: "standard output")
        }
    } catch {
        throw BlobError(wrapping: error)
    }
}
