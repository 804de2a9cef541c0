import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The options for the answers of an upload.
struct AnswerOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write answers to this file, which appears when it is complete; of many files, the first 64 KiB of each.",
            valueName: "file"))
    var output: String?

    @Option(
        name: [.customShort("w"), .customLong("write-out")],
        help: ArgumentHelp(
            "Print this text after each request, refused ones included.",
            discussion: """
                With %{http_code}, %{size_upload}, %{speed_upload} (bytes a second), %{time_total} (seconds, with \
                repetitions), %{url_effective}, and \\n, \\r, \\t, %%.
                """, valueName: "format"))
    var writeOut: WriteOutFormat?

    @Option(help: "Show progress: auto, always, never.")
    var progress = ProgressMode.auto

    /// True when answers are not just printed.
    var isAsked: Bool { self.output != nil || self.writeOut != nil }
}

/// The destinations of answers and results, in the order of requests that end at once.
final class AnswerOutput: Sendable {
    private struct State {
        var file: AtomicFile?
        var finishedByteCount: Int64 = 0
        var finishedCount = 0
        /// The bytes sent by the uploads under way.
        var sentByteCounts: [Int: Int64] = [:]
    }

    private let state: Locked<State>
    private let line: ProgressLine
    private let writeOut: WriteOutFormat?
    /// The number of all uploads; nil when there is one, whose length the line shows.
    private let count: Int?

    init(_ options: AnswerOptions, count: Int? = nil) throws(BlobError) {
        let file: AtomicFile? = if let path = options.output { try AtomicFile(path: path) } else { nil }
        Interrupts.setTemporaryPath(file?.temporaryPath)
        self.state = Locked(State(file: file))
        (self.line, self.writeOut, self.count) = (ProgressLine(options.progress), options.writeOut, count)
    }

    var hasFile: Bool { self.state.withLock { $0.file != nil } }

    /// Shows the progress of one of the uploads, by its number.
    func show(_ number: Int, _ sent: Int64, of byteCount: Int64?) {
        self.state.withLock { state in
            state.sentByteCounts[number] = sent
            let all = state.finishedByteCount + state.sentByteCounts.values.reduce(0, +)
            guard let count else { return self.line.show(all, of: byteCount) }
            self.line.show(all, of: nil, note: "\(state.finishedCount) of \(count) files, ")
        }
    }

    func sentByteCount(_ number: Int) -> Int64 { self.state.withLock { $0.sentByteCounts[number] ?? 0 } }

    /// Writes bytes of an answer to the file, or to standard output.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try self.state.withLock { state in
            self.line.clear()
            if let file = state.file { return try file.write(bytes) }
            try writeAll(bytes, to: STDOUT_FILENO, named: "standard output")
        }
    }

    /// Ends an upload: prints its line, and its facts as the user wants them.
    func end(_ number: Int, line: String? = nil, _ facts: RequestFacts? = nil, answer: Data? = nil) throws(BlobError) {
        let text = (line.map { "\($0)\n" } ?? "") + (facts.flatMap { self.writeOut?.text($0) } ?? "")
        do {
            try self.state.withLock { state in
                state.finishedByteCount += state.sentByteCounts.removeValue(forKey: number) ?? 0
                state.finishedCount += 1
                self.line.clear()
                if let answer { try answer.withUnsafeBytes { try state.file?.write($0) } }
                try Array(text.utf8).withUnsafeBytes {
                    try writeAll($0, to: STDOUT_FILENO, named: "standard output")
                }
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Returns a closure that prints an error after which an upload is tried again, at most `count` times.
    func retryReporter(of count: Int) -> @Sendable (BlobError) -> Void {
        let attempts = Locked(0)
        return { error in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            self.reportAttempt(error, attempt, count)
        }
    }

    /// Prints an error after which an upload is tried again, and the number of that attempt of at most `count` in a row.
    func reportAttempt(_ error: BlobError, _ number: Int, _ count: Int) {
        ProgressLine.printNotice("blob: trying again, \(number) of \(count): \(ErrorText(error).line)\n")
    }

    /// Prints an error in place of the progress.
    func report(_ error: BlobError) {
        self.state.withLock { state in
            self.line.clear()
            blob.report(error)
        }
    }

    /// Completes the file of answers.
    func commit() throws(BlobError) {
        try self.state.withLock { state throws(BlobError) in
            self.line.clear()
            try state.file?.commit()
        }
        Interrupts.setTemporaryPath(nil)
    }
}
