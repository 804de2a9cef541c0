#if Receiver
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobReceiving
import BlobStreamsNIO
import BlobStreamsStandard
import ServerProgram

/// The `blob-serve` program. It prints its URL and serves until it is ended.
@main
struct ServeProgram: ServerProgram {
    static let configuration = CommandConfiguration(
        commandName: "blob-serve",
        abstract: "Serves sources, and the members of archives, to browsers and other programs.",
        discussion: """
            Prints the URL of a page that lists the locators by name: URL/NAME is the content, and URL/NAME/ lists the \
            members of an archive or the files in a folder; URL/backup.tgz/etc/hosts is a member, at any depth. All \
            content can be read by ranges, so that players, pandas, DuckDB and others read only what they need. \
            Listings are pages, or JSON with 'Accept: application/json' or '?format=json'; '?download' lets a browser \
            store a file.

            Only programs on this machine can connect, and only with the random token in the URL, so keep the URL \
            as secret as a password. Nothing is written. Links in a folder are not followed.

            EXAMPLES:
              blob serve backup.tgz photos/
              blob serve --listen 0.0.0.0:8080 --token "$(uuidgen)" 's3://bucket/data.zip'
            """,
        version: commandVersion)

    static let command = "serve"

    @Argument(help: "The files, folders, archives, members and URLs to serve.")
    var locators: [String] = []

    @Option(help: ArgumentHelp("Also serve the assets of this library.", valueName: "folder"))
    var library: String?

    @Option(help: ArgumentHelp("Use this token instead of a random one.", valueName: "text"))
    var token: String?

    @Flag(help: "Serve everybody who can connect, without a token in the URL.")
    var noToken = false

    @Option(
        help: ArgumentHelp(
            "Keep indexes for random access here: auto (the user's cache folder), none, or a file.",
            valueName: "auto|none|path"))
    var index = "auto"

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard !self.locators.isEmpty || self.library != nil else {
            throw ValidationError("Specify at least one locator, or --library.")
        }
        guard self.token == nil || !self.noToken else {
            throw ValidationError("--token cannot be used with --no-token.")
        }
        let isPlain = self.token?.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "-._~".utf8.contains(byte)
        }
        guard isPlain != false, self.token != "", self.token != ".", self.token != ".." else {
            throw ValidationError("--token accepts letters, digits and -._~.")
        }
    }

    func run() throws {
        var context = BlobContext()
        context.index = self.index == "auto" ? .automatic : self.index == "none" ? .none : .file(self.index)
        let registry = BlobRegistry.standard
        var items: [ServedBlobs.Item] = []
        for text in self.locators { items.append(try Self.item(text, registry, context)) }
        #if Photos
        if let library { items.append(try Self.item(library: library)) }
        #else
        guard self.library == nil else {
            throw BlobError(.unavailable, "This build does not include the package trait Photos.", isTransient: false)
        }
        #endif
        let (host, port) = try self.server.address
        let token = self.noToken ? nil : AccessToken(self.token)
        let local: Set = ["127.0.0.1", "localhost", "[::1]"]
        let name = Self.programName
        let service = try ServedBlobs(
            items, registry: registry, token: token,
            hosts: token == nil && (local.contains(host) || host == "::1") ? local : nil, context: context
        ) { error in
            try? writeAll(Array("\(name): \(error)\n".utf8), to: STDERR_FILENO, named: "standard error")
        }
        let listening = try HTTPServer(service, limits: self.server.limits()).listen(host: host, port: port)
        let url = listening.url + (token.map { "\($0.text)/" } ?? "")
        try writeAll(Array("\(url)\n".utf8), to: STDOUT_FILENO, named: "standard output")
        try Self.serve(listening)
    }

    private static func item(
        _ text: String, _ registry: BlobRegistry, _ context: BlobContext
    ) throws(BlobError) -> ServedBlobs.Item {
        let locator = try registry.locator(for: text)
        if locator.scheme == "file", locator.selectors.isEmpty, let path = locator.filePath,
            FileStatus(at: path.cString)?.isFolder == true
        {
            let name = path.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) }
            return ServedBlobs.Item(name ?? "root", .folder(path: String(decoding: path, as: UTF8.self)))
        }
        do {
            let source = try registry.source(for: locator, context: context)
            // Fails now for a source that does not exist.
            let name = try source.info(context).name.flatMap { $0.split(separator: "/").last }
            return ServedBlobs.Item(name.map(String.init) ?? "content", .source(source))
        } catch {
            guard error.code == .invalidLocator else { throw error }
            let path = locator.schemeSpecificPart.split(separator: "/").last
            return ServedBlobs.Item(
                path.map(String.init) ?? "content", .container(try registry.container(for: locator, context: context)))
        }
    }
}
#else
import BlobCommandLine

/// The program in a build without its package traits.
@main enum Main {
    static func main() { endWithoutTrait("trait Receiver", "blob-serve") }
}
#endif
