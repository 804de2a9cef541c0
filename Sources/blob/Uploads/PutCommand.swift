import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStandardSources
import BlobTransfer

struct PutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Stores each source under a key made of its locator, and tells by a line when it is there.",
        discussion: """
            For the tasks of engines such as Spark and Dask, which are repeated: TARGET is a URL of a web server that \
            takes PUT, or s3://bucket/prefix/, and ends with '/'; the key behind it is the SHA-256 of the locator as it \
            is written, in hexadecimal, so that a repetition finds the object, or stores the same one again.

            Sources are stored one after the other. The line of each is printed before the next begins: its digest and \
            its URL, or with --json an object with locator, url, bytes, state (stored, exists or failed), sha256 or etag, \
            and error. An object exists if its server tells the right digest, or does not replace it (If-None-Match) and \
            tells the right size; in an S3 store, if it has the right size, and the right MD5 where its tag is one.

            The status is 0 when all are there, and 1 when some are not, which their lines say; with any other, sources \
            that have no line are not done. A closed standard output ends the command before the next source. Every wait \
            has a limit.
            """)

    @Argument(help: "A URL that ends with '/'.")
    var target: String

    @Argument(help: "The sources: a locator each, which is neither a folder nor a pattern.")
    var locators: [String] = []

    @Option(help: ArgumentHelp("Then the sources in this file ('-': standard input), one a line.", valueName: "file"))
    var fromFile: String?

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Option(help: "Retry each source at most this many times after transient errors.")
    var retry = 5

    @Option(help: ArgumentHelp("The longest time for one source, with its retries.", valueName: "seconds"))
    var maxTime: Double = 3600

    @OptionGroup var source: SourceOptions

    /// The status when some sources are not stored.
    private static let someFailed = ExitCode(1)
    private static let defaultIdleTimeout: Double = 60

    func validate() throws {
        guard UploadFolder(self.target) != nil else { throw ValidationError("TARGET is a URL that ends with '/'.") }
        guard !self.locators.isEmpty || self.fromFile != nil else { throw ValidationError("Name at least one source.") }
        guard self.retry >= 0 else { throw ValidationError("--retry cannot be negative.") }
        try Seconds.validate(self.maxTime, "--max-time")
    }

    func run() throws {
        var options = self.source
        options.idleTimeout = options.idleTimeout ?? Self.defaultIdleTimeout
        let context = try options.makeContext()
        let target: any PutTarget =
            if self.target.hasPrefix("s3://") {
                try StoreTarget(self.target, options, retry: self.retry, context)
            } else {
                try WebTarget(self.target, options, retry: self.retry, context)
            }
        options.web = options.web.forSources
        let sources = options.makeSources()
        var failed = false
        func put(_ locator: String) throws {
            let line = try self.line(of: locator, target, sources, context)
            failed = failed || line.state == .failed
            try self.printLine(of: line)
        }
        for locator in self.locators { try put(locator) }
        if let fromFile {
            try options.forEachLine(of: fromFile, context) { (line: String, _) in if !line.isEmpty { try put(line) } }
        }
        if failed { throw Self.someFailed }
    }

    private func line(
        of locator: String, _ target: any PutTarget, _ sources: ArgumentSources, _ context: BlobContext
    ) throws -> PutLine {
        var own = context
        own.deadline = .now + .seconds(self.maxTime)
        var hasher = CryptoDigest.sha256.makeHasher()
        Array(locator.utf8).withUnsafeBytes { hasher.update($0) }
        let url = target.url + hasher.finalizeHexadecimal()
        do {
            let source = try sources.source(locator, own)
            let object = try target.put(source, to: url, own)
            return PutLine(
                locator: locator, url: url, state: object.isNew ? .stored : .exists, bytes: object.byteCount,
                sha256: object.sha256, etag: object.entityTag)
        } catch {
            // The end of the whole job leaves the others without a line.
            try context.check()
            let error = BlobError(wrapping: error)
            if !self.json { report(error) }
            return PutLine(locator: locator, url: url, state: .failed, error: ErrorText(error).fields)
        }
    }

    private func printLine(of line: PutLine) throws {
        guard !self.json else { return try blob.printLine(jsonLine(line)) }
        guard line.state != .failed else { return }
        try blob.printLine("\(line.sha256 ?? line.etag ?? "-")  \(line.url)  \(printable(line.locator))")
    }
}

/// The report about one source.
private struct PutLine: Encodable {
    enum State: String, Encodable {
        case stored, exists, failed
    }

    let locator: String
    let url: String
    let state: State
    var bytes: Int64?
    var sha256: String?
    var etag: String?
    var error: ErrorText.Fields?
}
