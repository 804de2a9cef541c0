import ArgumentParser
import BlobStreamsStandard

/// The options of commands that read any number of locators, each in one pass.
struct PassOptions: ParsableArguments {
    @Option(help: "Also read the locators in this file, one per line ('-': standard input).")
    var fromFile: String?

    @Flag(help: "Stop at the first error; without this, the others are read, and the status is the first error's.")
    var failFast = false

    @Option(help: "Show progress: auto, always, never.")
    var progress = ProgressMode.auto

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

    /// The rules for trying again; nil without any of the options for that.
    var retries: BlobRetry? {
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
