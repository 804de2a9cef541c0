import ArgumentParser
import BlobHTTP
import BlobStreamsStandard
import BlobTransfer
import Foundation
import MultipartFormData

struct UploadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Sends sources to a web server: each as the body of a request, or all as a form.",
        discussion: """
            Answers are printed to standard output. The name of the source is appended to a URL that ends with '/', as \
            by curl -T; several sources need such a URL, and different names. Redirections are not followed. A source \
            of unknown length is sent in chunks. With -F the only body is a form, sent by POST. A success that a \
            server reports before its system has the whole body, or before it resets the connection, is an error; \
            bytes that its system has and its program never reads cannot be detected.
            """)

    @Argument(help: ArgumentHelp("The sources, then the URL; with -F, the URL alone.", valueName: "source ... url"))
    var arguments: [String] = []

    @OptionGroup var form: FormOptions

    @OptionGroup var request: UploadOptions

    @OptionGroup var resumable: ResumableOptions

    @Option(help: "Start at this byte of the body, from 0; for a form, give the same --boundary as before.")
    var offset: Int64 = 0

    @Option(help: "Show progress: auto, always, never.")
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard self.offset >= 0 else { throw ValidationError("--offset cannot be negative.") }
        try self.validateResumable()
        guard self.form.parts.isEmpty else {
            guard self.arguments.count == 1 else { throw ValidationError("-F goes with the URL alone.") }
            guard self.request.contentEncoding == .identity else {
                throw ValidationError("--content-encoding is for raw bodies: it goes without -F.")
            }
            return
        }
        guard self.arguments.count >= 2 else { throw ValidationError("Name at least one source, then the URL.") }
        guard self.arguments.count == 2 || self.resumable.isOn || UploadFolder(self.url) != nil else {
            throw ValidationError("Several sources need a URL that ends with '/'.")
        }
    }

    private func validateResumable() throws {
        guard self.resumable.isOn else { return }
        guard self.offset == 0, self.request.method == nil, self.request.contentEncoding == .identity else {
            throw ValidationError("--resumable goes without --offset, -X and --content-encoding.")
        }
        guard self.arguments.count <= 2 || self.resumable.stateFile == nil else {
            throw ValidationError("--state is for one source.")
        }
    }

    private var url: String { self.arguments.last ?? "" }

    func run() throws {
        let context = try self.source.makeContext()
        guard self.form.parts.isEmpty else { return try self.sendForm(context) }
        let arguments = self.arguments.dropLast()
        let sources = try arguments.map { try self.source.source($0, context) }
        // A server of resumable uploads chooses their URLs.
        var folder = self.resumable.isOn ? nil : UploadFolder(self.url)
        // All requests are made before the first byte is sent, so that a mistake in one sends nothing.
        let uploads = try zip(sources, arguments).map { source, argument in
            try self.request.makeUpload(
                .put, folder?.url(for: source, argument: argument, context) ?? self.url,
                idleTimeout: self.source.idleTimeout)
        }
        for (source, upload) in zip(sources, uploads) {
            var upload = upload
            let body = try self.request.contentEncoding.encode(source, &upload, context)
            try self.send(body, upload, context)
        }
    }

    private func sendForm(_ context: BlobContext) throws {
        // The same boundary makes the same bytes again.
        let state = self.resumable.isOn ? self.state(of: self.form.parts) : nil
        var form = self.form
        form.boundary = form.boundary ?? state?.load()?.boundary
        let body = try form.makeBody(self.source, context)
        var upload = try self.request.makeUpload(.post, self.url, idleTimeout: self.source.idleTimeout)
        guard !upload.fields.contains(where: { $0.name.lowercased() == "content-type" }) else {
            throw BlobError(.invalidArgument, "-F goes without -H 'Content-Type': that of a form names its boundary.")
        }
        // Set here, because a slice of the form has no media type.
        upload.fields.append(HTTPUpload.Field("Content-Type", body.contentType))
        try self.send(body, upload, context, state, boundary: body.boundary.text)
    }

    private func state(of words: [String]) -> UploadStateFile? {
        self.resumable.state(of: [self.url, FileManager.default.currentDirectoryPath] + words)
    }

    private func send(
        _ source: any BlobInputStreamDataSource, _ upload: HTTPUpload, _ context: BlobContext,
        _ state: UploadStateFile? = nil, boundary: String? = nil
    ) throws {
        let line = Locked(ProgressLine(self.progress))
        defer { line.withLock { $0.clear() } }
        var upload = upload
        upload.onProgress = { sent, byteCount in line.withLock { $0.show(sent, of: byteCount) } }
        if self.resumable.isOn {
            let words = [source.locator?.description ?? ""]
            return try self.resumable.send(
                source, upload, state ?? self.state(of: words), boundary: boundary, patience: self.request.retry,
                context)
        }
        upload.onAnswer = { bytes in
            line.withLock { $0.clear() }
            try writeAll(bytes, to: STDOUT_FILENO, named: "standard output")
        }
        let body = self.offset > 0 ? source.slice(self.offset...) : source
        _ = try HTTPUploader().upload(body, as: upload, context: context)
    }
}
