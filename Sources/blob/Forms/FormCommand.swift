import ArgumentParser
import BlobStreamsStandard
import MultipartFormData

struct FormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "form", abstract: "Composes the body of a form (multipart/form-data) and prints it.")

    @OptionGroup var form: FormOptions

    @Flag(help: "Print Content-Type, and Content-Length if the length is known, to standard error first.")
    var headers = false

    @Option(
        parsing: .unconditional,
        help: """
            Start at this byte of the body, from 0; -N is the last N bytes, of a known length. For the same bytes as \
            before, give the same --boundary.
            """)
    var offset: ByteOffset?

    @Option(name: .shortAndLong, help: "Write to this file, which appears when it is complete.")
    var output: String?

    @Option(help: "Show progress: auto, always, never.")
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.form.parts.isEmpty else { throw ValidationError("Give at least one part: -F NAME=VALUE.") }
    }

    func run() throws {
        let context = try self.source.makeContext()
        let body = try self.form.makeBody(self.source.makeSources(), context)
        if self.headers {
            let length = body.byteCount.map { "Content-Length: \($0)\n" } ?? ""
            printToStandardError("Content-Type: \(body.contentType)\n\(length)")
        }
        guard let output = self.output else { return try self.copy(body, to: StandardOutput(), context) }
        let file = try AtomicFile(path: output)
        Interrupts.setTemporaryPath(file.temporaryPath)
        try self.copy(body, to: file, context)
        try file.commit()
        // Only now, because synchronising may take longer than an interrupt waits.
        Interrupts.setTemporaryPath(nil)
    }

    private func copy(_ body: MultipartBody, to output: some ByteOutput, _ context: BlobContext) throws {
        var copier = Copier(output, limit: nil, progress: self.progress, context)
        defer { copier.finish() }
        try copier.copy(body, at: ByteOffset.start(self.offset?.value ?? 0, in: body, context), matching: nil)
    }
}
