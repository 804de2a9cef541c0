#if Command
import ArgumentParser
import BlobStreamsStandard

/// The options of commands that read any number of locators in one pass each.
struct PassOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Also read the locators in this file, one per line.",
            discussion: "'-' is standard input.", valueName: "file"))
    var fromFile: String?

    @Flag(help: .advanced("Stop at the first error (default: continue, and exit with the status of the first error)."))
    var failFast = false

    @Option(help: .advanced("Show progress: auto, always or never."))
    var progress = ProgressMode.auto

    @Option(
        help: .advanced(
            "Retry after temporary errors, this many times in a row.",
            discussion: """
                A temporary error is, for example, a lost connection. Without --resume, a source is only retried \
                until its first byte has been read.
                """, valueName: "count"))
    var retry: Int?

    @Flag(
        help: ArgumentHelp(
            "Continue after a lost connection.",
            discussion: """
                Resumes at the byte reached on a retry (see --retry; default: 5), if the content is the same \
                according to its digest, its ETag, or its date and last 4 KiB; otherwise, fails with the error \
                'changed'.
                """))
    var resume = false

    @Option(help: Seconds.retryHelp)
    var retryMaxTime = Seconds.defaultRetryTime

    @OptionGroup var listed: ListedLocatorOptions

    @OptionGroup var redirects: RedirectOptions

    func validate() throws {
        guard (0..<Int.max).contains(self.retry ?? 0) else { throw ValidationError("--retry cannot be negative.") }
        try Seconds.validate(self.retryMaxTime, "--retry-max-time")
    }

    /// The rules for retries; nil if no retry option is given.
    private var retries: BlobRetry? {
        guard self.retry != nil || self.resume else { return nil }
        var rules = BlobRetry()
        if let retry { rules.maximumFailureCount = retry + 1 }
        rules.resumesReading = self.resume
        rules.maximumWait = .seconds(self.retryMaxTime)
        return rules
    }

    /// Returns the names to read; standard input if there are no names and no list.
    func names(_ locators: [String]) -> [String] {
        locators.isEmpty && self.fromFile == nil ? ["-"] : locators
    }

    /// Returns the arguments of a command followed by the lines of its list.
    func makeList(
        _ locators: [String], isZero: Bool = false, _ registry: BlobRegistry, _ context: BlobContext
    ) throws -> ArgumentList {
        var list = ArgumentList(self.names(locators))
        if let fromFile { try list.add(fromFile, isZero: isZero, self.listed, registry, context) }
        return list
    }

    /// Returns the sources of arguments, with retries for every origin.
    ///
    /// Creates a new registry; call this method once rather than for each name.
    func makeSources(_ source: SourceOptions) -> ArgumentSources {
        var sources = source.makeSources()
        guard let rules = self.retries else { return sources }
        sources.registry = sources.registry.layeringOrigins { layers, _ in
            layers.retry = rules
            layers.idleLimit = source.idleLimit
        }
        return sources
    }

    /// Returns the context of the command.
    ///
    /// Reads the password file; call this method once.
    func makeContext(_ source: SourceOptions) throws(BlobError) -> BlobContext {
        var context = try source.makeContext()
        guard let rules = self.retries else { return context }
        // The idle limit applies to each attempt; a pause between two attempts is not idle time.
        context.idleLimit = nil
        let (attempts, count) = (Locked(0), rules.maximumFailureCount - 1)
        context.eventSink = { event in
            switch event.kind {
            case .recovering:
                let attempt = attempts.withLock { attempts in
                    attempts = attempts % max(count, 1) + 1
                    return attempts
                }
                let wait = Seconds.delayText(of: event.delay)
                ProgressLine.printNotice(
                    "blob: trying again, \(attempt) of \(count), from byte \(event.value)\(wait)\n")
            case .recovered:
                attempts.withLock { $0 = 0 }
                ProgressLine.printNotice("blob: recovered: continuing at byte \(event.value) of the source.\n")
            default: Verbosity.report(event)
            }
        }
        return context
    }
}

/// The option of commands that only read; an upload has an option of this name with another meaning.
struct RedirectOptions: ParsableArguments {
    @Flag(
        name: [.customShort("L"), .customLong("location")],
        help: .advanced("Ignored, for compatibility with curl: redirects are always followed."))
    var followsRedirections = false
}

/// The option of commands that read locators from lists.
///
/// A list is data, and may come from someone else. Its locators are opened with the user's credentials, from inside the
/// user's network.
struct ListedLocatorOptions: ParsableArguments {
    @Flag(
        name: .customLong("allow-network-in-lists"),
        help: .advanced(
            "Allow locators in lists to reach web servers and stores.",
            discussion: """
                Without this option, such locators are errors. The servers receive what other options send, such as \
                header fields, as for a locator in an argument.
                """))
    var allowsNetwork = false

    /// Checks the locator in a line of a list.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a locator that reaches the network, unless this is allowed.
    func check(_ text: String, _ registry: BlobRegistry) throws(BlobError) {
        guard !self.allowsNetwork, let locator = try? registry.locator(for: text), registry.reachesNetwork(locator)
        else { return }
        throw BlobError(
            .invalidArgument,
            "The scheme '\(locator.scheme)' reaches the network: in a list, it requires --allow-network-in-lists.",
            operation: "resolve", locator: locator.description)
    }

    /// Checks the locator in a numbered line of a list. The error includes the line number.
    func check(
        _ text: String, _ registry: BlobRegistry, line number: Int, of list: String
    ) throws(BlobError) {
        do throws(BlobError) {
            try self.check(text, registry)
        } catch {
            throw error.inLine(number, of: list)
        }
    }
}
#endif
