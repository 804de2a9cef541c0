package import BlobStreamsStandard
package import Foundation

/// The code that the examples share. It checks the arguments, creates the registry, and reports an error.
package enum ExampleProgram {
    /// Runs an example with its arguments and the registry of ``BlobRegistry/standardWithLibrary()``.
    ///
    /// If the number of arguments is wrong, ends the process with a usage message and status 64. After an error, ends
    /// it with one line about the error and the status for its code.
    ///
    /// - Parameters:
    ///   - usage: The name of the program and its arguments.
    ///   - counts: The accepted numbers of arguments, without the name of the program.
    package static func run(
        _ usage: String, taking counts: some RangeExpression<Int>, _ body: ([String], BlobRegistry) throws -> Void
    ) {
        do {
            try body(self.arguments(usage, counts), .standardWithLibrary())
        } catch {
            self.end(after: error)
        }
    }

    /// Runs an asynchronous example in the same way as a synchronous one.
    @MainActor package static func run(
        _ usage: String, taking counts: some RangeExpression<Int>, _ body: ([String], BlobRegistry) async throws -> Void
    ) async {
        do {
            try await body(self.arguments(usage, counts), .standardWithLibrary())
        } catch {
            self.end(after: error)
        }
    }

    /// Prints a line on standard error.
    package static func report(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }

    /// Parses the URL of a server.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the text is not an `http` or `https` URL.
    package static func serverURL(_ text: String) throws(BlobError) -> URL {
        guard let url = URL(string: text), let scheme = url.scheme, ["http", "https"].contains(scheme) else {
            throw BlobError(.invalidArgument, "The server URL must begin with http: or https:, but is '\(text)'.")
        }
        return url
    }

    private static func arguments(_ usage: String, _ counts: some RangeExpression<Int>) -> [String] {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard counts.contains(arguments.count) else {
            self.report("usage: \(usage)")
            exit(64)
        }
        return arguments
    }

    private static func end(after error: any Error) -> Never {
        self.report("\(error)")
        exit((error as? BlobError)?.code.exitStatus ?? BlobError.Code.internalError.exitStatus)
    }
}
