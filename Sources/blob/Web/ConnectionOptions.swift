#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The options for connections to web servers.
struct ConnectionOptions: ParsableArguments {
    /// The environment variables that name a certificate file, the same as curl's.
    private static let certificateVariables = ["CURL_CA_BUNDLE", "SSL_CERT_FILE"]

    @Option(
        name: [.customLong("cacert"), .customLong("ca-file")],
        help: ArgumentHelp(
            "Trust only the CA certificates in this PEM file (default: CURL_CA_BUNDLE, SSL_CERT_FILE).",
            valueName: "file"))
    var certificateFile: String?

    @Option(help: ArgumentHelp("Present the client certificate in this PEM file to web servers.", valueName: "file"))
    var cert: String?

    @Option(
        help: ArgumentHelp(
            "Read the unencrypted private key of --cert from this PEM file (default: the same file).",
            valueName: "file"))
    var key: String?

    @Flag(
        name: [.customShort("k"), .customLong("insecure")],
        help: "Accept any certificate of a web server; attackers may read and change all data.")
    var isInsecure = false

    @Flag(name: .shortAndLong, help: "Read user names and passwords for web servers from ~/.netrc.")
    var netrc = false

    @Option(help: ArgumentHelp("Read user names and passwords for web servers from this file.", valueName: "file"))
    var netrcFile: String?

    @Option(
        name: [.customShort("x"), .customLong("proxy")],
        help: ArgumentHelp(
            "Use this proxy for web servers, or none if it is '' (default: from the environment).", valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp("Give up connecting after this time, including TLS (default: 30).", valueName: "seconds"))
    var connectTimeout: Double?

    func validate() throws {
        guard self.key == nil || self.cert != nil else { throw ValidationError("--key requires --cert.") }
        try Seconds.validate(self.connectTimeout, "--connect-timeout")
    }

    /// The connection settings, without checking that the files exist. Warns once about ``isInsecure``.
    var settings: BlobTransferSettings {
        let environment = ProcessInfo.processInfo.environment
        var settings = BlobTransferSettings()
        settings.certificateFile =
            self.certificateFile
            ?? Self.certificateVariables.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        (settings.clientCertificateFile, settings.clientKeyFile) = (self.cert, self.key)
        settings.isInsecure = self.isInsecure
        settings.netrcFile = self.netrcFile ?? (self.netrc ? "\(environment["HOME"] ?? "")/.netrc" : nil)
        settings.proxy = self.proxy
        if let connectTimeout { settings.connectLimit = .seconds(connectTimeout) }
        if self.isInsecure, !Self.hasWarned.exchange(true) {
            ProgressLine.printNotice("blob: warning: the certificates of web servers are not verified (--insecure)\n")
        }
        return settings
    }

    /// Returns the settings after checking that their files exist.
    ///
    /// - Throws: ``BlobError/Code/notFound`` or a similar error for a missing file.
    func checkedSettings(_ context: BlobContext) throws(BlobError) -> BlobTransferSettings {
        let settings = self.settings
        // Without the job's deadline, whose error would name one of the files.
        var context = context
        context.deadline = nil
        let files = [
            settings.certificateFile, settings.clientCertificateFile, settings.clientKeyFile, settings.netrcFile,
        ]
        for case let file? in files { _ = try FileSource(path: file).info(context) }
        return settings
    }

    private static let hasWarned = Locked(false)
}

extension Main {
    /// The URL prefixes that require libcurl.
    private static let schemes = ["http://", "https://", "s3://"]

    /// Loads libcurl in the background if an argument is the URL of a server.
    ///
    /// Loading takes as long as everything before the first use of libcurl.
    ///
    /// - Returns: A function that waits for the loading to finish. Call it before the process exits.
    static func preloadLibraries() -> () -> Void {
        let arguments = CommandLine.arguments.dropFirst()
        let isForServers = arguments.contains { argument in
            Self.schemes.contains { argument.utf8.starts(with: $0.utf8) }
        }
        // The URL of an upload may lack its scheme.
        guard isForServers || arguments.first == UploadCommand.configuration.commandName,
            arguments.first != CompleteCommand.configuration.commandName
        else { return {} }
        Interrupts.withSignalsBlocked { CurlLibrary.preload() }
        return { try? CurlLibrary.load() }
    }
}
#endif
