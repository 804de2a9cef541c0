import ArgumentParser
import BlobTransfer

extension Main {
    /// URL prefixes that need libcurl.
    private static let schemes = ["http://", "https://", "s3://"]

    /// Loads libcurl in the background when an argument is the URL of a server: that takes as long as everything until
    /// its first use.
    ///
    /// - Returns: A function that waits for it, to be called before the process exits.
    static func preloadLibraries() -> () -> Void {
        let arguments = CommandLine.arguments.dropFirst()
        let isForServers = arguments.contains { argument in
            Self.schemes.contains { argument.utf8.starts(with: $0.utf8) }
        }
        // The URL of an upload may be without a scheme.
        guard isForServers || arguments.first == UploadCommand.configuration.commandName,
            arguments.first != CompleteCommand.configuration.commandName
        else { return {} }
        Interrupts.withSignalsBlocked { CurlLibrary.preload() }
        return { try? CurlLibrary.load() }
    }
}
