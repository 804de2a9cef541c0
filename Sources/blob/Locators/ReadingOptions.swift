import BlobStreamsStandard

/// The options for sources and the options of a pass over them, together; a command has both groups, for the reason in
/// ``SourceOptions``.
struct ReadingOptions {
    let source: SourceOptions
    private let rules: BlobRetry?

    init(_ source: SourceOptions, _ pass: PassOptions) {
        (self.source, self.rules) = (source, pass.retries)
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
