#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer
import MultipartFormData
import ZipArchive

struct UploadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Uploads to a web server or an S3 store.",
        discussion: """
            Sends files, folders and other sources by PUT; with -F, a form by POST.

            For a single source, the response is printed to standard output. If the URL ends with '/', the name of the \
            source is appended, as by curl -T. Several sources require such a URL and different names. For each \
            completed source, a line with its SHA-256 digest is printed, preceded by 'already there: ' if it was \
            skipped; a failure does not stop the other uploads. A source of unknown length is sent in chunks. With -F, \
            a single form is sent with POST. The upload fails if the server reports success before its system has \
            received the whole body, or if the connection is reset afterwards. Whether the server's program read every \
            byte can only be verified if the server reports a digest of the stored object; it is then compared, and \
            reported with -v.

            s3://bucket/key stores one object, and s3://bucket/prefix/ stores several. Large objects are sent in \
            parts, up to --jobs of them at a time, with digests that the store verifies. For each completed object, a \
            line with its entity tag is printed.

            EXAMPLES:
              blob upload photos/ https://example.com/dav/
              blob upload 'backup.tgz#db.sql' s3://bucket/db.sql
            """)

    @Argument(
        help: ArgumentHelp("The sources and, last, the URL; with -F, only the URL.", valueName: "source ... url"))
    var arguments: [String] = []

    @OptionGroup(title: "Forms") var form: FormOptions

    @Flag(help: .advanced("Send the sources as one zip; see 'blob compose zip'."))
    var zip = false

    @OptionGroup(title: "Requests") var request: UploadOptions

    @OptionGroup(title: "Lists") var list: ListOptions

    @OptionGroup(title: "Lists") var listed: ListedLocatorOptions

    @OptionGroup(title: "Resumable uploads") var resumable: ResumableOptions

    @OptionGroup(title: "Responses") var answers: AnswerOptions

    @Option(
        parsing: .unconditional,
        help: .advanced(
            """
            Start at this byte of the body, counted from 0; -N selects the last N bytes, if the length is known. For a \
            form, use the same --boundary as before.
            """))
    var offset: ByteOffset?

    @OptionGroup var source: SourceOptions

    @Flag(help: .advanced("Print the length of each source, its name and its URL, and send nothing."))
    var dryRun = false

    func validate() throws {
        guard self.url.isEmpty || self.url.contains("://") else {
            throw ValidationError(
                "The last argument must be a URL (http://, https:// or s3://), not '\(printableURL(self.url))'.")
        }
        if self.isS3Target { try self.validateS3() } else { try self.validateWeb() }
        guard self.form.parts.isEmpty else { return try self.validateForm() }
        let isOneURL = UploadFolder(self.url) == nil || self.resumable.isEnabled && !self.isS3Target
        guard
            !self.zip
                || isOneURL && !self.dryRun && !self.list.recursive && self.list.skipExisting == nil
                    && self.list.journal == nil
        else {
            throw ValidationError(
                "--zip requires the URL of one file, without --recursive, --skip-existing, --journal and --dry-run.")
        }
        guard self.arguments.count >= (self.list.fromFile == nil ? 2 : 1) else {
            throw ValidationError("Specify at least one source, followed by the URL.")
        }
        guard self.list.skipExisting == nil || self.startOffset == 0 && self.request.contentEncoding == .identity else {
            throw ValidationError("--skip-existing cannot be used with --offset or --content-encoding.")
        }
        let isSingle = self.arguments.count == 2 && !self.list.recursive && self.list.fromFile == nil
        guard
            isSingle || self.zip || UploadFolder(self.url) != nil || self.resumable.isEnabled && !self.isS3Target
        else {
            throw ValidationError("Several sources require a URL that ends with '/'.")
        }
        guard isSingle || self.zip || self.resumable.stateFile == nil else {
            throw ValidationError("--state requires a single source.")
        }
    }

    private func validateForm() throws {
        guard !self.dryRun else { throw ValidationError("-F cannot be used with --dry-run.") }
        guard self.arguments.count == 1 else { throw ValidationError("With -F, the URL must be the only argument.") }
        guard self.request.contentEncoding == .identity else {
            throw ValidationError("--content-encoding cannot be used with -F.")
        }
        guard !self.list.printsLinePerFile else {
            throw ValidationError("-F cannot be used with --recursive, --from-file, --skip-existing or --journal.")
        }
        guard !self.isS3Target || !self.resumable.isEnabled || self.form.boundary != nil else {
            throw ValidationError("A resumable upload of a form requires --boundary.")
        }
    }

    private func validateWeb() throws {
        guard self.resumable.resumption != .s3 else {
            throw ValidationError("--resumable s3 requires a URL that begins with s3://.")
        }
        guard self.resumable.isEnabled else { return }
        guard self.startOffset == 0, self.request.method == nil, self.request.contentEncoding == .identity else {
            throw ValidationError("--resumable cannot be used with --offset, -X or --content-encoding.")
        }
        guard !self.list.printsLinePerFile, !self.request.followsRedirections, !self.answers.isRequested else {
            throw ValidationError(
                "--resumable cannot be used with --recursive, --from-file, --skip-existing, --journal, -L, -o or -w.")
        }
    }

    /// True if the URL names an object in a store, or a folder for several objects.
    private var isS3Target: Bool { self.url.hasPrefix("s3://") }

    private func validateS3() throws {
        guard self.request.method == nil, self.request.contentEncoding == .identity, self.startOffset == 0,
            !self.request.followsRedirections, !self.answers.isRequested, self.source.web.user == nil
        else {
            throw ValidationError(
                "An s3:// URL cannot be used with -X, --content-encoding, --offset, -L, -o, -w or -u.")
        }
        guard self.list.skipExisting == nil, self.list.journal == nil, self.resumable.resumption.wireProtocol == nil
        else {
            throw ValidationError(
                "An s3:// URL cannot be used with --skip-existing, --journal, or --resumable tus or draft.")
        }
    }

    private func uploadToS3(_ context: BlobContext) throws {
        let upload = try self.request.makeUpload(.put, self.url, self.source, context)
        let uploads = try S3Uploads(
            upload, self.source.s3.options(upload.settings), self.request, self.list, self.resumable)
        guard self.form.parts.isEmpty else {
            let body = try self.form.makeBody(self.reading.makeSources(), context)
            return try uploads.run(body, words: self.form.parts, self.url, AnswerOutput(self.answers), context)
        }
        if self.zip {
            return try uploads.run(
                self.makeZip(context), words: self.zipWords, self.url, AnswerOutput(self.answers), context)
        }
        try self.checkSeveral()
        guard !self.hasSeveralSources || self.resumable.stateFile == nil else {
            throw BlobError(.invalidArgument, "--state requires a single source.")
        }
        let items = try self.items(context)
        let output = try self.makeOutput(items)
        try uploads.run(items, items.sources, output, context)
    }

    private func items(_ context: BlobContext) throws -> UploadItems {
        let sources = self.reading.makeSources()
        var items = UploadItems(self.url, sources, context)
        for argument in self.arguments.dropLast() { try items.add(argument) }
        if let file = self.list.fromFile {
            for (number, line) in try UploadItems.lines(of: sources.source(file, context), context) {
                try self.listed.check(line, sources.registry, line: number, of: file)
                try items.add(line) { $0.inLine(number, of: file) }
            }
        }
        return items
    }

    private var startOffset: Int64 { self.offset?.value ?? 0 }

    /// The URL of the upload. As in curl, `http://` is added to HOST:PORT.
    private var url: String {
        let text = self.arguments.last ?? ""
        let authority = text.prefix { $0 != "/" }
        let port = authority.split(separator: ":", omittingEmptySubsequences: false).dropFirst().last
        return port.flatMap { UInt16($0) } == nil ? text : "http://\(text)"
    }

    /// The options for reading the sources, without the values meant for the receiver.
    private var reading: SourceOptions {
        var options = self.source
        options.web = self.source.web.withoutCredentials
        return options
    }

    func run() throws {
        let context = self.request.limited(try self.source.makeContext())
        guard !self.dryRun else { return try self.printItems(context) }
        guard !self.isS3Target else { return try self.uploadToS3(context) }
        guard self.form.parts.isEmpty else { return try self.sendForm(context) }
        // Created before the first byte is sent, so that nothing is sent for an invalid request.
        let upload = try self.request.makeUpload(.put, self.url, self.source, context)
        try upload.validate()
        if self.zip { return try self.sendZip(upload, context) }
        if self.resumable.isEnabled { return try self.sendResumably(upload, context) }
        guard self.arguments.count > 2 || self.list.printsLinePerFile || self.hasSeveralSources else {
            return try self.sendOne(upload, context)
        }
        try self.checkSeveral()
        let items = try self.items(context)
        try WebUploads(
            items, upload, self.request, self.list, self.makeOutput(items), items.sources, offset: self.startOffset
        ).run(context)
    }

    /// Prints a line for each source, and sends nothing.
    private func printItems(_ context: BlobContext) throws {
        try self.checkSeveral()
        let items = try self.items(context)
        let failures = SourceFailures(isFailFast: false)
        for item in items.items {
            do {
                let byteCount = try item.source(items.sources, context).info(context).byteCount
                try printLine(
                    "\(byteCount.map { "\($0)" } ?? "-")  \(printableArgument(item.name)) -> \(printableURL(item.url))")
            } catch {
                try failures.record(error)
            }
        }
        for error in items.errors { try failures.record(error) }
        try failures.end()
    }

    private func makeOutput(_ items: UploadItems) throws(BlobError) -> AnswerOutput {
        let output = try AnswerOutput(self.answers, count: items.items.count)
        if self.startOffset == 0, self.request.contentEncoding == .identity, !self.source.reading.decode {
            output.expect(items.items, items.sources.registry)
        }
        return output
    }

    /// True if the first source is a folder or a pattern for members.
    private var hasSeveralSources: Bool {
        guard let first = self.arguments.dropLast().first else { return false }
        let registry = self.reading.makeSources().registry
        return registry.folderPath(first) != nil || registry.memberSelection(first) != nil
    }

    /// Checks that the URL can be completed with the names of several files.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the source may name several files, but the URL does not end with
    ///   '/'.
    private func checkSeveral() throws(BlobError) {
        guard !self.hasSeveralSources || UploadFolder(self.url) != nil else {
            throw BlobError(.invalidArgument, "A folder or a pattern requires a URL that ends with '/'.")
        }
    }

    private func sendOne(_ upload: BlobUploadRequest, _ context: BlobContext) throws {
        var upload = upload
        let argument = self.arguments[0]
        let source = try self.reading.makeSources().source(argument, context)
        var folder = UploadFolder(self.url)
        upload.url = try folder?.url(for: source, argument: argument, context) ?? self.url
        let isBody = self.startOffset == 0 && self.request.contentEncoding == .identity
        try upload.setMediaType(of: source, nil, isBody: isBody, context)
        try self.send(self.request.contentEncoding.encode(source, &upload, context), upload, context)
    }

    private func sendResumably(_ upload: BlobUploadRequest, _ context: BlobContext) throws {
        let sources = self.reading.makeSources()
        let all = try self.arguments.dropLast().map { try sources.source($0, context) }
        let output = try AnswerOutput(self.answers, count: all.count)
        for (number, source) in all.enumerated() {
            var upload = upload
            try upload.setMediaType(of: source, nil, context)
            let state = self.state(of: [source.locator?.identity ?? ""])
            try self.sendResumably(source, upload, context, state, output, number)
        }
    }

    private func sendResumably(
        _ source: any BlobInputStreamDataSource, _ upload: BlobUploadRequest, _ context: BlobContext,
        _ state: UploadStateFile?, _ output: AnswerOutput, _ number: Int = 0, boundary: String? = nil
    ) throws {
        var upload = upload
        upload.onProgress = { sent, byteCount in output.show(number, sent, of: byteCount) }
        let place = upload.printableURL
        let url = try self.resumable.send(
            source, upload, state, boundary: boundary, maximumFailureCount: self.request.retry, context,
            onAttempt: output.reportAttempt, onCheck: { output.reportCheck($0, at: place) })
        // Resolved against a URL with a password, it contains the password, too.
        try output.end(number, line: (try? TransferURL(url).text) ?? url)
    }

    private func state(of words: [String]) -> UploadStateFile? {
        self.resumable.state(of: [self.url, FileManager.default.currentDirectoryPath] + words)
    }

    /// The arguments that the zip is made of.
    private var zipWords: [String] { self.arguments.dropLast() + [self.list.fromFile].compactMap(\.self) }

    private func makeZip(_ context: BlobContext) throws(BlobError) -> ZipBody {
        try ZipArguments(
            self.arguments.dropLast(), list: self.list.fromFile, self.listed, self.reading, context
        ).composer.body(context: context)
    }

    private func sendZip(_ upload: BlobUploadRequest, _ context: BlobContext) throws {
        let body = try self.makeZip(context)
        var upload = upload
        try upload.setMediaType(of: body, nil, isBody: true, context)
        guard self.resumable.isEnabled else {
            return try self.send(self.request.contentEncoding.encode(body, &upload, context), upload, context)
        }
        try self.sendResumably(
            body, upload, context, self.state(of: self.zipWords), AnswerOutput(self.answers))
    }

    private func sendForm(_ context: BlobContext) throws {
        // The same boundary reproduces the same bytes.
        let state = self.resumable.isEnabled ? self.state(of: self.form.parts) : nil
        var form = self.form
        form.boundary = form.boundary ?? state?.boundary
        let body = try form.makeBody(self.reading.makeSources(), context)
        var upload = try self.request.makeUpload(.post, self.url, self.source, context)
        guard !upload.fields.contains(where: { $0.name.lowercased() == "content-type" }) else {
            throw BlobError(.invalidArgument, "-F cannot be used with -H 'Content-Type': the form sets its own.")
        }
        // Set here, because a slice of the form has no media type.
        upload.fields.append(BlobHTTPField("Content-Type", body.contentType))
        if self.resumable.isEnabled {
            return try self.sendResumably(
                body, upload, context, state, AnswerOutput(self.answers), boundary: body.boundary.text)
        }
        try self.send(body, upload, context)
    }

    private func send(
        _ source: any BlobInputStreamDataSource, _ upload: BlobUploadRequest, _ context: BlobContext
    ) throws {
        let output = try AnswerOutput(self.answers)
        var upload = upload
        let (digests, answer) = (Locked<[BlobStatedDigest]>([]), Locked(Data()))
        upload.onResponseBody = { bytes in
            answer.withLock { $0.append(contentsOf: bytes.prefix(BlobUploadResponse.maximumBodyByteCount - $0.count)) }
            try output.write(bytes)
        }
        let part: any BlobInputStreamDataSource = self.startOffset > 0 ? source.slice(self.startOffset...) : source
        let body = part.hashing(with: CryptoDigest.sha256) { digest in
            digests.withLock { $0 = [BlobStatedDigest(CryptoDigest.sha256.name, digest, origin: "the source")] }
        }
        let timed = try TimedUpload(upload, self.request, output, number: 0)
        let (result, facts) = try waiting { () throws(BlobError) in
            await timed.run(body, matching: nil, context)
        }
        try output.end(0, facts)
        // The receiver reports digests of the parts, not of the form.
        let stored = source is MultipartBody ? nil : answer.withLock { $0 }
        let check = try result.get().compare(digests.withLock { $0 }, body: stored)
        try output.commit()
        output.reportCheck(check, at: facts.url)
    }
}

extension BlobUploadRequest {
    /// Adds a media type, based on the name or the first bytes, to a source that states none.
    ///
    /// - Parameter isBody: True if the source is the body, whose first bytes need not be read beforehand.
    mutating func setMediaType(
        of source: any BlobInputStreamDataSource, _ info: BlobInfo?, isBody: Bool = false, _ context: BlobContext
    ) throws(BlobError) {
        guard !self.fields.contains(where: { $0.name.lowercased() == "content-type" }) else { return }
        let info = if let info { info } else { try source.info(context) }
        guard info.mediaType == nil else { return }
        let named = BlobMediaType.mediaType(ofFileName: info.name ?? "")
        guard named != nil || !isBody else {
            return self.mediaTypeDetection = MediaTypeDetection(byteCount: BlobMediaType.signatureByteCount) {
                BlobMediaType.mediaType(of: $0)
            }
        }
        guard let type = named ?? BlobMediaType.mediaType(byBeginningOf: source, context) else { return }
        self.fields.append(BlobHTTPField("Content-Type", type))
    }
}
#endif
