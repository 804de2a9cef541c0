#if Command
import ArgumentParser
import BlobStreamsStandard
import ZipArchive

struct ComposeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compose", abstract: "Composes an archive from any sources, without a temporary file.",
        subcommands: [ComposeZipCommand.self])
}

struct ComposeZipCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zip", abstract: "Prints a zip of any sources.",
        discussion: """
            Each argument is NAME=LOCATOR, or a locator that has a name. A folder stands for all files below it, and a \
            pattern for the members of an archive, which are repacked without unpacking. Entries are stored, not \
            compressed. The same sources give the same bytes, and any part of them is found at once: --offset continues \
            a zip that was interrupted.

            The zip of one folder or archive is also a source of every command: 'zipped+photos' is that of photos. \
            'blob upload --zip' sends a zip.

            EXAMPLES:
              blob compose zip photos/ notes.txt=s3://bucket/a.txt > all.zip
              blob compose zip -o docs.zip 'backup.tgz#docs/**'
            """)

    @Argument(help: ArgumentHelp("The sources.", valueName: "name=locator"))
    var arguments: [String] = []

    @OptionGroup var zip: ZipOptions

    @OptionGroup var listed: ListedLocatorOptions

    @Option(
        help: ArgumentHelp(
            "Also add the sources that this file lists, one per line ('-': standard input).", valueName: "file"))
    var fromFile: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Start at this byte of the zip; -N prints the last N bytes.", valueName: "bytes"))
    var offset: ByteOffset?

    @Option(help: ArgumentHelp("Print at most this many bytes.", valueName: "bytes"))
    var length: ByteCount?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write to this file, which appears only when complete.", valueName: "file"))
    var output: String?

    @Option(help: .advanced("Show progress: auto, always or never."))
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.arguments.isEmpty || self.fromFile != nil else {
            throw ValidationError("Specify at least one source.")
        }
    }

    func run() throws {
        let context = try self.source.makeContext()
        let body = try self.zip.makeBody(
            self.arguments, list: self.fromFile, self.listed, self.source, context)
        try withOutput(to: self.output) { output in
            let line = ProgressLine(self.progress, writesData: output is StandardOutput)
            let copier = Copier(output, limit: nil, progress: ProgressSum(line, of: 1), context)
            defer { copier.finish() }
            try copier.copy(
                body, at: ByteOffset.start(self.offset?.value ?? 0, in: body, context), upTo: self.length?.value)
        }
    }
}

/// The options of a zip, and the zip of arguments.
struct ZipOptions: ParsableArguments {
    @Option(name: .customLong("zip-comment"), help: .advanced("Add this comment to the zip.", valueName: "text"))
    var comment: String?

    /// Returns the zip of arguments and of the lines of a list.
    func makeBody(
        _ arguments: [String], list: String?, _ listed: ListedLocatorOptions, _ source: SourceOptions,
        _ context: BlobContext
    ) throws(BlobError) -> ZipBody {
        let sources = source.makeSources()
        var zip = ZipArguments(sources, source, context)
        for argument in arguments { try zip.append(argument) }
        if let list {
            for (number, line) in try UploadItems.lines(of: sources.source(list, context), context) {
                try listed.check(
                    ZipArguments.parts(of: line, sources.registry).locator, sources.registry, line: number, of: list)
                do {
                    try zip.append(line)
                } catch {
                    throw error.inLine(number, of: list)
                }
            }
        }
        zip.composer.comment = self.comment ?? ""
        return try zip.composer.body(context: context)
    }
}
#endif
