#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The options for the responses to an upload.
struct AnswerOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: .advanced(
            "Write responses to this file; it appears only when complete.",
            discussion: "For several uploads, the file contains at most the first 64 KiB of each response.",
            valueName: "file"))
    var output: String?

    @Option(
        name: [.customShort("w"), .customLong("write-out")],
        help: .advanced(
            "Print this text after each request, even if the server refused it.",
            discussion: """
                The text may contain %{http_code}, %{size_upload}, %{speed_upload} (bytes per second), %{time_total} \
                (seconds, including retries), %{url_effective}, \\n, \\r, \\t and %%.
                """, valueName: "format"))
    var writeOut: WriteOutFormat?

    @Option(help: .advanced("Show progress: auto, always or never."))
    var progress = ProgressMode.auto

    /// True if responses should be stored or formatted rather than only printed.
    var isRequested: Bool { self.output != nil || self.writeOut != nil }
}

/// Writes responses and results in the order in which concurrent requests end.
final class AnswerOutput: Sendable {
    private struct State {
        var file: AtomicFile?
        /// The errors not yet printed, with the number of repetitions of each; `errorTime` is the time of the first
        /// error.
        var errors: [(error: BlobError, repetitionCount: Int)] = []
        var errorTime: ContinuousClock.Instant?

        mutating func takeDueErrors() -> [(error: BlobError, repetitionCount: Int)] {
            guard let errorTime, .now - errorTime > AnswerOutput.errorDelay else { return [] }
            defer { (self.errors, self.errorTime) = ([], nil) }
            return self.errors
        }
    }

    /// The longest time for which an error is held back, so that equal errors are printed as one line, while there is
    /// any activity.
    private static let errorDelay = Duration.seconds(1)

    private let state: Locked<State>
    private let progress: ProgressSum<Int>
    private var line: ProgressLine { self.progress.line }
    private let writeOut: WriteOutFormat?

    /// - Parameter count: The number of all uploads.
    init(_ options: AnswerOptions, count: Int = 1) throws(BlobError) {
        let file: AtomicFile? = if let path = options.output { try AtomicFile(path: path) } else { nil }
        Interrupts.setTemporaryPath(file?.temporaryPath)
        self.state = Locked(State(file: file))
        self.writeOut = options.writeOut
        self.progress = ProgressSum(ProgressLine(options.progress), of: count, "files")
    }

    /// Announces the lengths of local files, for the total of all uploads.
    func expect(_ items: [UploadItem], _ registry: BlobRegistry) {
        guard self.line.isShown else { return }
        for (number, item) in items.enumerated() { self.progress.expect(item.fileByteCount(registry), of: number) }
    }

    /// Shows the progress of an upload, identified by its number.
    func show(_ number: Int, _ sent: Int64, of byteCount: Int64?) {
        self.progress.show(number, sent, of: byteCount)
        self.printErrors(self.state.withLock { $0.takeDueErrors() })
    }

    /// Ends the progress of a failed upload.
    func endProgress(_ number: Int) { self.progress.finish(number) }

    func sentByteCount(_ number: Int) -> Int64 { self.progress.done(number) }

    /// Writes bytes of a response to the file or to standard output.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try self.state.withLock { state in
            self.line.clear()
            if let file = state.file { return try file.write(bytes) }
            try writeAll(bytes, to: STDOUT_FILENO, named: "standard output")
        }
    }

    /// Ends an upload by printing its line, and its facts in the format that the user requested.
    func end(_ number: Int, line: String? = nil, _ facts: RequestFacts? = nil, answer: Data? = nil) throws(BlobError) {
        let text = (line.map { "\($0)\n" } ?? "") + (facts.flatMap { self.writeOut?.text($0) } ?? "")
        try self.state.withLock { state throws(BlobError) in
            self.progress.finish(number)
            self.line.clear()
            let file = state.file
            if let answer { try Array(answer).withBytes { (bytes) throws(BlobError) in try file?.write(bytes) } }
            try writeAll(Array(text.utf8), to: STDOUT_FILENO, named: "standard output")
        }
    }

    /// Prints the error after which an upload is retried, and the number of the attempt.
    func reportAttempt(_ attempt: RetryFailures.Attempt) {
        let wait = Seconds.delayText(of: attempt.delay)
        ProgressLine.printNotice(
            "blob: trying again, \(attempt.number) of \(attempt.limit)\(wait): \(ErrorText(attempt.error).line)\n")
    }

    /// If `-v` is set, prints which digest of a stored source was compared.
    ///
    /// - Parameters:
    ///   - check: The digest that was compared, such as `SHA-256`; nil if none was compared.
    ///   - place: The URL, with possible secrets masked.
    func reportCheck(_ check: String?, at place: String) {
        guard Verbosity.isVerbose else { return }
        let outcome = check.map { "\($0) compared" } ?? "the server did not report a digest to compare"
        ProgressLine.printNotice("blob: \(place): stored; \(outcome).\n")
    }

    /// Prints an error in place of the progress, after a short delay that combines equal errors into one line.
    func report(_ error: BlobError) {
        guard !Verbosity.isVerbose else { return self.printErrors([(error, 0)]) }
        let due = self.state.withLock { state in
            if let index = state.errors.firstIndex(where: { $0.error.isAlike(error) }) {
                state.errors[index].repetitionCount += 1
            } else {
                state.errors.append((error, 0))
                state.errorTime = state.errorTime ?? .now
            }
            return state.takeDueErrors()
        }
        self.printErrors(due)
    }

    /// Prints the errors that were held back.
    func flushErrors() {
        self.printErrors(
            self.state.withLock { state in
                defer { (state.errors, state.errorTime) = ([], nil) }
                return state.errors
            })
    }

    private func printErrors(_ errors: [(error: BlobError, repetitionCount: Int)]) {
        self.state.withLock { state in
            for (error, count) in errors {
                self.line.clear()
                blob.report(count == 0 ? error : error.adding("\(count) more failed in the same way."))
            }
        }
    }

    /// Completes the file that stores the responses.
    func commit() throws(BlobError) {
        try self.state.withLock { state throws(BlobError) in
            self.line.clear()
            try state.file?.commit()
        }
        Interrupts.setTemporaryPath(nil)
    }
}

extension BlobError {
    /// Returns true if the other error has the same code and message, but concerns another source.
    fileprivate func isAlike(_ other: BlobError) -> Bool { self.code == other.code && self.message == other.message }
}

/// The facts about a completed request.
struct RequestFacts {
    /// The status of the response; 0 if no response was received.
    var status: Int
    /// The number of bytes of the body that were sent.
    var sentByteCount: Int64
    var duration: Duration
    /// The last URL, with possible secrets masked.
    var url: String
}

/// A format string whose variables stand for facts about a request, as in curl's `--write-out`.
struct WriteOutFormat: ExpressibleByArgument {
    private enum Variable: String {
        case httpCode = "http_code"
        case responseCode = "response_code"
        case sizeUpload = "size_upload"
        case speedUpload = "speed_upload"
        case timeTotal = "time_total"
        case urlEffective = "url_effective"
    }

    private enum Piece {
        case text(String), variable(Variable)
    }

    private static let escapes: [Character: String] = ["n": "\n", "r": "\r", "t": "\t", "\\": "\\"]

    private var pieces: [Piece] = []

    /// Creates a format; fails if a variable is unknown or not closed.
    init?(argument: String) {
        var rest = Substring(argument)
        while let first = rest.popFirst() {
            if first == "\\", let next = rest.popFirst() {
                self.pieces.append(.text(Self.escapes[next] ?? "\\\(next)"))
            } else if first == "%", rest.first == "%" {
                rest.removeFirst()
                self.pieces.append(.text("%"))
            } else if first == "%", rest.first == "{" {
                guard let end = rest.firstIndex(of: "}"),
                    let variable = Variable(rawValue: String(rest[..<end].dropFirst()))
                else { return nil }
                rest = rest[rest.index(after: end)...]
                self.pieces.append(.variable(variable))
            } else {
                self.pieces.append(.text(String(first)))
            }
        }
    }

    func text(_ facts: RequestFacts) -> String {
        let seconds = max(facts.duration.timeInterval, 0)
        let microseconds = Int((min(seconds, 1e9) * 1e6).rounded())
        return self.pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .variable(.httpCode), .variable(.responseCode): Self.padded(facts.status, to: 3)
            case .variable(.sizeUpload): "\(facts.sentByteCount)"
            case .variable(.speedUpload):
                "\(seconds > 0 ? Int64(clamping: Int(Double(facts.sentByteCount) / seconds)) : 0)"
            case .variable(.timeTotal):
                "\(microseconds / 1_000_000).\(Self.padded(microseconds % 1_000_000, to: 6))"
            case .variable(.urlEffective): facts.url
            }
        }.joined()
    }

    private static func padded(_ number: Int, to count: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
#endif
