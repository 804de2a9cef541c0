#if Command
import ArgumentParser
import BlobIndex
import BlobStreamsStandard

/// The options shared by all commands for messages other than results.
struct VerbosityOptions: ParsableArguments {
    @Flag(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Print only errors.",
            discussion: "Progress, notices and warnings are not printed."))
    var quiet = false

    @Flag(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Print causes of errors and further details.",
            discussion: """
                Prints the layers and causes of errors, the indexes that are used, created or refused, the server \
                digests that are compared, and the confinement of helper processes.
                """))
    var verbose = false

    @Flag(name: [.customShort("s"), .customLong("silent")], help: .advanced("Same as --quiet."))
    var silent = false

    @Flag(
        name: [.customShort("S"), .customLong("show-error")],
        help: .advanced("Ignored, for compatibility with curl: errors are always printed."))
    var showsErrors = false

    @Option(
        help: .advanced(
            """
            Log reads, requests and retries at this level and above. Default: none; with --log-format json, notice.
            """))
    var logLevel: ActivityLog.Level?

    @Option(help: .advanced("Print the log, notices and errors as text, the default, or as lines of JSON."))
    var logFormat = LogLine.Format.text

    func validate() throws {
        guard !self.quiet && !self.silent || !self.verbose else { throw ValidationError("-q cannot be used with -v.") }
    }
}

/// The options that apply to the whole process.
enum Verbosity {
    private struct State {
        var (isQuiet, isVerbose, isJSON) = (false, false, false)
        var logFormat = LogLine.Format.text
        /// The activity of the command, which is logged; nil without a log.
        var activity: BlobActivity?
        /// The notices already printed, because a file is examined for each of its sections and layers.
        var notices: Set<IndexNotice> = []
        /// The sets of missing confinement features, each of which is reported once.
        var confinements: Set<Int64> = []
    }

    private static let state = Locked(State())
    /// True if a server's bytes matched the digest since this flag was last read.
    private static let hasProof = Locked(false)

    static func set(_ options: VerbosityOptions) {
        let format = options.logFormat
        let level = options.logLevel ?? (format == .json ? .notice : nil)
        let log = level.map { level in
            ActivityLog(from: level) { level, message, fields, _ in
                ProgressLine.printLog(LogLine(level: level, message: message, fields: fields).text(format))
            }
        }
        self.state.withLock { state in
            (state.isQuiet, state.isVerbose) = (options.quiet || options.silent, options.verbose)
            (state.logFormat, state.activity) = (format, log.map { BlobActivity(observer: $0) })
        }
        guard options.verbose else { return }
        IndexNotice.observe { notice in
            guard self.state.withLock({ $0.notices.insert(notice).inserted }) else { return }
            ProgressLine.printNotice("blob: \(notice.text)\n")
        }
    }

    /// Lets the options decide what is reported of a job.
    static func observe(_ context: inout BlobContext) {
        (context.eventSink, context.activity) = (self.report, self.state.withLock { $0.activity })
    }

    static var hasJSONLog: Bool { self.state.withLock { $0.logFormat == .json } }

    /// Prints an event about the system's confinement of a helper, or about the verification of a server's bytes, if
    /// `-v` is set.
    static func report(_ event: BlobEvent) {
        guard self.isVerbose else { return }
        if let layer = event.layer, BlobRegistry.standard.provider(for: layer)?.reachesNetwork == true {
            if event.check != nil { _ = self.hasProof.exchange(true) }
            let lack = "were not verified: the server did not report a usable digest"
            let outcome = event.check.map { "have the correct \($0)" } ?? lack
            return ProgressLine.printNotice("blob: \(event.value) bytes from \(layer) \(outcome).\n")
        }
        guard event.kind == .helperStarted, self.state.withLock({ $0.confinements.insert(event.value).inserted })
        else { return }
        let confinement = ArchiveFormat.helperConfinement(missing: event.value)
        ProgressLine.printNotice("blob: the helper process is \(confinement).\n")
    }

    /// If `-v` is set, prints that the bytes of a part were not compared with the digest of the whole.
    ///
    /// Prints nothing if the parts read since the last call make up the whole.
    static func reportPartialRead(of source: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        guard self.isVerbose, !self.hasProof.exchange(false),
            let digest = try source.info(context).digests.first
        else { return }
        ProgressLine.printNotice(
            "blob: the part was not verified: the \(digest.algorithm) (\(digest.origin)) covers all bytes.\n")
    }

    static var isQuiet: Bool { self.state.withLock { $0.isQuiet } }

    static var isVerbose: Bool { self.state.withLock { $0.isVerbose } }

    /// True if results are printed as JSON. Each error about a source is then also printed as a line of JSON.
    static var isJSON: Bool {
        get { self.state.withLock { $0.isJSON } }
        set { self.state.withLock { $0.isJSON = newValue } }
    }
}

extension IndexNotice {
    fileprivate var text: String {
        switch self {
        case .built(let path): "the index \(printable(path)) was created."
        case .used(let path): "the index \(printable(path)) is used."
        case .refused(let path, let reason): "the index \(printable(path)) is not used: \(reason)."
        }
    }
}
#endif
