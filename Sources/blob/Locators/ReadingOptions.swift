import ArgumentParser
import BlobStandardSources

/// The options of commands that read the bytes of locators, as one pass over each.
struct RetryOptions: ParsableArguments {
    @Option(
        help: """
            Try again at most this many times in a row after an error that another attempt may help against, such as a \
            lost connection; without --resume, only before the first byte was read.
            """)
    var retry: Int?

    @Flag(
        help: """
            Go on at the byte reached when trying again (with --retry; 5 times in a row without it), if the content is \
            still the same: by its digest or ETag, or by its date or the like and the last 4 KiB, which are compared. \
            Otherwise the error is 'changed'.
            """)
    var resume = false

    /// The rules for trying again; nil without any of the options.
    var rules: BlobRetry? {
        guard self.retry != nil || self.resume else { return nil }
        var rules = BlobRetry()
        if let retry { rules.maximumFailureCount = retry + 1 }
        rules.resumes = self.resume
        return rules
    }

    func validate() throws {
        guard (0..<Int.max).contains(self.retry ?? 0) else { throw ValidationError("--retry cannot be negative.") }
    }
}

/// The options for sources and those for trying again, which stand side by side in a command, as ``SourceOptions``
/// says.
struct ReadingOptions {
    let source: SourceOptions
    private let rules: BlobRetry?

    init(_ source: SourceOptions, _ retries: RetryOptions) {
        (self.source, self.rules) = (source, retries.rules)
    }

    /// Returns the registry of everything that locators can name, in which all that has bytes of its own is tried
    /// again. Composes it anew, as ``SourceOptions/makeRegistry()``.
    private func makeRegistry() -> BlobRegistry {
        guard let rules else { return self.source.makeRegistry() }
        return self.source.makeRegistry().layeringOrigins {
            $0.retry = rules
            $0.idleLimit = self.source.idleLimit
        }
    }

    /// Returns the sources of arguments. Composes their registry anew: called once, and not for each name.
    func makeSources() -> ArgumentSources {
        ArgumentSources(registry: self.makeRegistry(), decodes: self.source.decode)
    }

    /// Returns the context of the command. Called once: reads the password file.
    func makeContext() throws(BlobError) -> BlobContext {
        var context = try self.source.makeContext()
        guard self.rules != nil else { return context }
        // The idle limit is that of each attempt: a pause between two of them is not idle.
        context.idleLimit = nil
        let (attempts, count) = (Locked(0), (self.rules?.maximumFailureCount ?? 1) - 1)
        context.eventSink = { event in
            switch event.kind {
            case .recovering:
                let attempt = attempts.withLock { attempts in
                    attempts = attempts % max(count, 1) + 1
                    return attempts
                }
                ProgressLine.printNotice("blob: trying again, \(attempt) of \(count), from byte \(event.value)\n")
            case .recovered:
                attempts.withLock { $0 = 0 }
                ProgressLine.printNotice("blob: recovered: reading goes on at byte \(event.value) of its source.\n")
            default: Verbosity.noteHelper(event)
            }
        }
        return context
    }
}
