package import Foundation

/// A process that was run to its end.
package struct FinishedProcess: Sendable {
    /// The exit status, or the number of the signal that ended the process.
    package let status: Int32
    /// The bytes of its standard output.
    package let output: Data
    /// The text of its standard error: less than a pipe holds, as it is read last.
    package let errors: String

    /// The text of its standard output.
    package var outputText: String { String(decoding: self.output, as: UTF8.self) }

    /// Runs a program to its end; blocks.
    ///
    /// - Parameters:
    ///   - executable: A path, or the name of a program on the `PATH`.
    ///   - folder: The current folder of the process; nil is that of the tests.
    ///   - environment: Variables besides those of the tests.
    package init(
        _ executable: String, _ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:]
    ) throws {
        let process = Process()
        let isPath = executable.contains("/")
        process.executableURL = URL(fileURLWithPath: isPath ? executable : "/usr/bin/env")
        process.arguments = isPath ? arguments : [executable] + arguments
        if let folder { process.currentDirectoryURL = folder }
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        self.output = output.fileHandleForReading.readDataToEndOfFile()
        self.errors = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        self.status = process.terminationStatus
    }
}
