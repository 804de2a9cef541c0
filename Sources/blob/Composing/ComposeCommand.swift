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
            Each argument is NAME=LOCATOR, or a locator that has a name. In NAME, write ':' as %3A and '#' as %23. A folder stands for all files below it, and a \
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

    @Option(help: .advanced("Add this comment to the zip.", valueName: "text"))
    var comment = ""

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
        var zip = try ZipArguments(self.arguments, list: self.fromFile, self.listed, self.source, context).composer
        zip.comment = self.comment
        let body = try zip.body(context: context)
        try withOutput(to: self.output) { output in
            let line = ProgressLine(self.progress, writesData: output is StandardOutput)
            let copier = Copier(output, limit: nil, progress: ProgressSum(line, of: 1), context)
            defer { copier.finish() }
            try copier.copy(
                body, at: ByteOffset.start(self.offset?.value ?? 0, in: body, context), upTo: self.length?.value)
        }
    }
}
#endif
