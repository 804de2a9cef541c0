import ArgumentParser
import BlobIndex
import BlobStreamsStandard

/// The options of all commands for what they print besides results.
struct VerbosityOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print errors only: no progress, notices and warnings.")
    var quiet = false

    @Flag(
        name: .shortAndLong,
        help: """
            Print more: the layers and the causes of errors, which indexes are used, made and refused, and how helper \
            processes are confined.
            """)
    var verbose = false

    func validate() throws {
        guard !self.quiet || !self.verbose else { throw ValidationError("-q goes without -v.") }
    }
}

/// The part of the options that all of the process follows.
enum Verbosity {
    private static let options = Locked((isQuiet: false, isVerbose: false))
    private static let hasJSON = Locked(false)

    static func set(_ options: VerbosityOptions) {
        self.options.withLock { $0 = (options.quiet, options.verbose) }
        guard options.verbose else { return }
        // A file is looked at for each of its sections, and each layer.
        let known = Locked<Set<IndexNotice>>([])
        IndexNotice.observe { notice in
            guard known.withLock({ $0.insert(notice).inserted }) else { return }
            ProgressLine.printNotice("blob: \(notice.text)\n")
        }
    }

    /// The parts that are missing in the confinement of helpers, of which each is reported once.
    private static let confinements = Locked<Set<Int64>>([])

    /// Prints how the system confines a helper, with `-v`.
    static func noteHelper(_ event: BlobEvent) {
        guard event.kind == .helperStarted, self.isVerbose,
            self.confinements.withLock({ $0.insert(event.value).inserted })
        else { return }
        ProgressLine.printNotice("blob: the helper process is \(event.confinement).\n")
    }

    static var isQuiet: Bool { self.options.withLock { $0.isQuiet } }

    static var isVerbose: Bool { self.options.withLock { $0.isVerbose } }

    /// True when results are JSON: then errors have a line of JSON, too.
    static var isJSON: Bool {
        get { self.hasJSON.withLock { $0 } }
        set { self.hasJSON.withLock { $0 = newValue } }
    }
}

extension IndexNotice {
    fileprivate var text: String {
        switch self {
        case .built(let path): "the index \(printable(path)) was made."
        case .used(let path): "the index \(printable(path)) is used."
        case .refused(let path, let reason): "the index \(printable(path)) is not used: \(reason)."
        }
    }
}

extension BlobEvent {
    /// How the system confines a helper that was started, in words.
    var confinement: String {
        ArchiveFormat.helperConfinement(missing: self.value)
    }
}
