import ArgumentParser
import BlobTransfer

extension Main {
    /// The arguments, at any place, that begin the URLs of servers.
    private static let schemes = ["http://", "https://", "s3://"]

    /// Loads libraries that take as long as everything until they are needed, if the arguments tell that they will be.
    static func preloadLibraries() {
        let arguments = CommandLine.arguments.dropFirst()
        let isForServers = arguments.contains { argument in Self.schemes.contains { argument.hasPrefix($0) } }
        // The URL of an upload may be without a scheme.
        guard isForServers || arguments.first == UploadCommand.configuration.commandName else { return }
        Interrupts.withSignalsBlocked { CurlLibrary.preload() }
    }
}
