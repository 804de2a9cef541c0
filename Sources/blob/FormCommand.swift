#if Command
import ArgumentParser
import BlobStreamsStandard
import MultipartFormData

struct FormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "form", abstract: "Prints the body of a form (multipart/form-data).",
        discussion: """
            The parts may come from any source; -F works as in curl.

            EXAMPLES:
              blob form -F 'title=A day' -F photo=@photo.jpg > body
              blob form --headers -F 'log=<backup.tgz#var/log/syslog'
            """)

    @OptionGroup var form: FormOptions

    @Flag(
        help: ArgumentHelp(
            "Print the header fields to standard error first.",
            discussion: "Prints Content-Type, and Content-Length if it is known."))
    var headers = false

    @Option(
        parsing: .unconditional,
        help: .advanced(
            """
            Start at this byte of the body, counted from 0; -N selects the last N bytes, if the length is known. To \
            get the same bytes as in an earlier run, use the same --boundary.
            """))
    var offset: ByteOffset?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file, which appears only when complete.", valueName: "file"))
    var output: String?

    @Option(help: .advanced("Show progress: auto, always or never."))
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.form.parts.isEmpty else { throw ValidationError("Specify at least one part: -F NAME=VALUE.") }
    }

    func run() throws {
        let context = try self.source.makeContext()
        let body = try self.form.makeBody(self.source.makeSources(), context)
        if self.headers {
            let length = body.byteCount.map { "Content-Length: \($0)\n" } ?? ""
            printToStandardError("Content-Type: \(body.contentType)\n\(length)")
        }
        try withOutput(to: self.output) { output in
            let line = ProgressLine(self.progress, writesData: output is StandardOutput)
            let copier = Copier(output, limit: nil, progress: ProgressSum(line, of: 1), context)
            defer { copier.finish() }
            try copier.copy(body, at: ByteOffset.start(self.offset?.value ?? 0, in: body, context))
        }
    }
}

/// The options shared by all commands that compose forms.
struct FormOptions: ParsableArguments {
    @Option(
        name: [.customShort("F"), .customLong("form")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Add a part: NAME=VALUE, NAME=@FILE or NAME=<FILE.",
            discussion: """
                'NAME=@LOCATOR' is a file, and 'NAME=<LOCATOR' is a field with the content of the locator. The part \
                may be followed by ';type=MEDIA/TYPE' and ';filename=NAME'. Put text that contains ';' or ',' in \
                double quotes: 'a=\"one;two\"', 'f=@\"x,y\";type=text/plain'. To send several files under one name, \
                use 'f=@one,two', 'f=@folder' for all files below it, or 'f=@x.tgz#dir/*' for the matching members. \
                Parts are sent in the given order.
                """, valueName: "part"))
    var parts: [String] = []

    @Option(
        help: .advanced(
            """
            Use this boundary between the parts (default: random): 1 to 70 letters, digits and hyphens. If it begins \
            with a hyphen, write --boundary=TEXT.
            """))
    var boundary: String?

    /// Returns the body with all parts. Warns about parts without a name, which receivers may drop.
    func makeBody(_ sources: ArgumentSources, _ context: BlobContext) throws(BlobError) -> MultipartBody {
        let boundary: MultipartBoundary = if let text = self.boundary { try MultipartBoundary(text) } else { .random() }
        var form = MultipartForm()
        for text in RawArguments.separated(self.parts) {
            let argument = try FormArgument(text)
            if argument.name.isEmpty {
                ProgressLine.printNotice("blob: warning: a part of the form has no name; many servers discard it\n")
            }
            for item in argument.items { try self.append(item, name: argument.name, to: &form, sources, context) }
        }
        return try form.body(boundary: boundary, context: context)
    }

    /// Returns the locators of the files in a folder or of the members that a pattern selects; otherwise the argument
    /// itself.
    private func files(
        _ argument: String, _ registry: BlobRegistry, _ context: BlobContext
    ) throws(BlobError) -> [String] {
        guard let folder = registry.folderPath(argument) else { return try registry.expanding([argument], context) }
        let files = FolderFiles(in: folder)
        if let error = files.errors.first { throw error }
        let base = folder.last == UInt8(ascii: "/") ? folder : folder + [UInt8(ascii: "/")]
        return files.paths.map { BlobLocator(filePath: base + $0).text }
    }

    private func append(
        _ item: FormArgument.Item, name: String, to form: inout MultipartForm, _ sources: ArgumentSources,
        _ context: BlobContext
    ) throws(BlobError) {
        let type = item.mediaType
        switch item.content {
        case .value(let value):
            if let fileName = item.fileName {
                try form.appendPart(source: MemorySource(value.utf8), name: name, fileName: fileName, mediaType: type)
            } else if let type {
                try form.appendPart(value: MemorySource(value.utf8), name: name, mediaType: type)
            } else {
                try form.appendPart(value: value, name: name)
            }
        case .file(let locator):
            for file in try self.files(locator, sources.registry, context) {
                try form.appendPart(
                    source: sources.source(file, context), name: name, fileName: item.fileName, mediaType: type)
            }
        case .contents(let locator):
            try form.appendPart(value: sources.source(locator, context), name: name, mediaType: type)
        }
    }
}
#endif
