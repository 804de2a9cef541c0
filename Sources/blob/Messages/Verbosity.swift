#if Command
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
            Print more: the layers and the causes of errors, which indexes are used, made and refused, which digests of \
            servers were compared, and how helper processes are confined.
            """)
    var verbose = false

    func validate() throws {
        guard !self.quiet || !self.verbose else { throw ValidationError("-q goes without -v.") }
    }
}

/// The part of the options that all of the process follows.
enum Verbosity {
    private struct State {
        var (isQuiet, isVerbose, isJSON) = (false, false, false)
        /// The notices that were printed: a file is looked at for each of its sections, and each layer.
        var notices: Set<IndexNotice> = []
        /// The parts that are missing in the confinement of helpers, of which each is reported once.
        var confinements: Set<Int64> = []
    }

    private static let state = Locked(State())
    /// True when the bytes of a server had the right digest since that was last asked.
    private static let hasProof = Locked(false)

    static func set(_ options: VerbosityOptions) {
        self.state.withLock { ($0.isQuiet, $0.isVerbose) = (options.quiet, options.verbose) }
        guard options.verbose else { return }
        IndexNotice.observe { notice in
            guard self.state.withLock({ $0.notices.insert(notice).inserted }) else { return }
            ProgressLine.printNotice("blob: \(notice.text)\n")
        }
    }

    /// Prints what an event tells with `-v`: how the system confines a helper, and what was verified of a server's bytes.
    static func note(_ event: BlobEvent) {
        guard self.isVerbose else { return }
        if let layer = event.layer, BlobRegistry.standard.provider(for: layer)?.reachesNetwork == true {
            if event.check != nil { _ = self.hasProof.exchange(true) }
            let lack = "are not verified: the server states no digest that can be compared"
            let outcome = event.check.map { "have the right \($0)" } ?? lack
            return ProgressLine.printNotice("blob: \(event.value) bytes of \(layer) \(outcome).\n")
        }
        guard event.kind == .helperStarted, self.state.withLock({ $0.confinements.insert(event.value).inserted })
        else { return }
        let confinement = ArchiveFormat.helperConfinement(missing: event.value)
        ProgressLine.printNotice("blob: the helper process is \(confinement).\n")
    }

    /// Prints with `-v` that the bytes of a part were not compared with the digest of the whole, unless the parts that
    /// were read since the last call are the whole.
    static func notePart(of source: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        guard self.isVerbose, !self.hasProof.exchange(false),
            let digest = try source.info(context).digests.first
        else { return }
        ProgressLine.printNotice(
            "blob: the part is not verified: the \(digest.algorithm) (\(digest.origin)) is of all bytes.\n")
    }

    static var isQuiet: Bool { self.state.withLock { $0.isQuiet } }

    static var isVerbose: Bool { self.state.withLock { $0.isVerbose } }

    /// True when results are JSON: then errors have a line of JSON, too.
    static var isJSON: Bool {
        get { self.state.withLock { $0.isJSON } }
        set { self.state.withLock { $0.isJSON = newValue } }
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
#endif
