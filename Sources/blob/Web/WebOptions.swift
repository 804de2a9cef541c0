#if Command
import ArgumentParser
import BlobStreamsStandard
import BlobTransfer

/// The options for requests to web servers.
///
/// Options with secrets apply to one server, which in an upload is the receiver.
struct WebOptions: ParsableArguments {
    private static let maximumHeaderFileByteCount = 64 * 1024

    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send a header field, 'Name: value'.",
            discussion: """
                'Name;' has an empty value, and @FILE stands for the fields in a file, one per line. The field is \
                sent to the server of each source or, in an upload, only to the server of the URL. It is never sent \
                to the server of a --password-file.
                """, valueName: "field"))
    var headers: [String] = []

    @Option(
        help: .advanced(
            "Send the header fields in this file to the servers of sources; each line is 'Name: value'.",
            valueName: "file"))
    var headerFile: String?

    @Option(
        name: [.customShort("u"), .customLong("user")], parsing: .unconditional,
        help: ArgumentHelp(
            "Log in with a user name and a password.",
            discussion: """
                The credentials are sent to the servers of the sources or, in an upload, only to the server of the \
                URL. They are never sent to the server of a --password-file. Other users of this machine may see the \
                password in the list of processes; use --netrc-file to avoid that.
                """, valueName: "user:pass"))
    var user: String?

    @Option(
        name: [.customShort("A"), .customLong("user-agent")],
        help: .advanced("Send this text as the header field User-Agent.", valueName: "text"))
    var userAgent: String?

    func validate() throws {
        guard self.user?.contains(":") ?? true else {
            throw ValidationError("-u requires USER:PASSWORD; there is no prompt for the password.")
        }
        for header in self.headers where !header.hasPrefix("@") { _ = try Self.field(header) }
    }

    /// The user and the password; nil if neither is given.
    var credentials: BlobTransferSettings.Credentials? {
        self.user.map { user in
            let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return BlobTransferSettings.Credentials(user: String(parts[0]), password: String(parts.last ?? ""))
        }
    }

    /// Returns the fields of ``headers``, including fields from files.
    func fields(_ context: BlobContext) throws -> [BlobHTTPField] {
        let agent = try self.userAgent.map { [try Self.field("User-Agent: \($0)")] } ?? []
        return try agent
            + self.headers.flatMap { header in
                header.hasPrefix("@")
                    ? try Self.fields(in: String(header.dropFirst()), context) : [try Self.field(header)]
            }
    }

    /// A copy of these options for the sources of an upload, without the values meant for the receiver.
    var withoutCredentials: WebOptions {
        var options = self
        (options.headers, options.user, options.userAgent) = ([], nil, nil)
        return options
    }

    /// A copy of these options for the server of a password file, without the values meant for the receiver or the
    /// sources.
    var passwordFileOptions: WebOptions {
        var options = self.withoutCredentials
        options.headerFile = nil
        return options
    }

    /// Returns a registry whose web sources use these options.
    func applied(
        to registry: BlobRegistry, _ connection: ConnectionOptions, _ store: S3Options
    ) -> BlobRegistry {
        let settings = connection.settings
        let registry = store.applied(to: registry, settings)
        guard
            !self.headers.isEmpty || (self.headerFile ?? self.user ?? self.userAgent) != nil
                || settings != BlobTransferSettings()
        else {
            return registry
        }
        // Created when a locator first needs them, and only for this registry, because other registries may lack the
        // secrets.
        let made = Locked<HTTPSource.Options?>(nil)
        let provider = BlobProvider(
            .origin { locator, context in
                let options = try made.withLock { try $0 ?? self.make(&$0, connection, context) }
                return try HTTPSource(locator, options: options)
            }, schemes: HTTPSource.provider.schemes, reachesNetwork: true)
        return registry.replacing([provider])
    }

    private func make(
        _ made: inout HTTPSource.Options?, _ connection: ConnectionOptions, _ context: BlobContext
    ) throws -> HTTPSource.Options {
        var options = HTTPSource.Options()
        options.transfers = try connection.checkedSettings(context)
        options.transfers.credentials = self.credentials
        let file = try self.headerFile.map { try Self.fields(in: $0, context) } ?? []
        options.headers = (try self.fields(context) + file).map { ($0.name, $0.value) }
        made = options
        return options
    }

    private static func field(_ text: String) throws -> BlobHTTPField {
        guard let field = BlobHTTPField(line: text) else {
            // Omits the text itself, which may contain a secret.
            throw ValidationError(
                text.contains(":")
                    ? "-H: write 'Name;' for a field with an empty value."
                    : "-H requires 'Name: value', 'Name;' for an empty value, or @FILE.")
        }
        return field
    }

    private static func fields(in file: String, _ context: BlobContext) throws -> [BlobHTTPField] {
        let bytes = try FileSource(path: file).data(upTo: self.maximumHeaderFileByteCount, context: context)
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        return try lines.enumerated().map { index, line in
            // Omits the line itself, which may contain a secret.
            guard let field = BlobHTTPField(line: String(line)) else {
                throw BlobError(
                    .invalidArgument,
                    "Line \(index + 1) of '\(printableArgument(file))' does not have the form 'Name: value'.")
            }
            return field
        }
    }
}
#endif
