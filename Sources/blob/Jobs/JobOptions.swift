#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The options of the commands that store the sources of a job.
struct JobOptions: ParsableArguments {
    @Argument(help: "The URL to store under; it must end with '/'.")
    var target: String

    @Argument(
        help: ArgumentHelp(
            "The locators of the sources.",
            discussion: "Folders and patterns are not accepted."))
    var locators: [String] = []

    @Option(
        help: ArgumentHelp(
            "Also read the locators in this file, one per line.",
            discussion: "'-' is standard input.", valueName: "file"))
    var fromFile: String?

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Store parts of this size in S3 stores.",
            discussion: "The size must be from 5MiB to 5GiB; the default is 16MiB.", valueName: "bytes"))
    var partSize: ByteCount?

    @Option(
        help: .advanced(
            "Retry after temporary errors, this many times.", valueName: "count"))
    var retry = 5

    @Option(help: Seconds.retryHelp)
    var retryMaxTime = Seconds.defaultRetryTime

    @Option(help: .advanced("Send at most this many bytes per second.", valueName: "rate"))
    var limitRate: ByteRate?

    @Option(
        help: .advanced(
            "Give up on a source after this time, including retries (default: no limit).", valueName: "seconds"))
    var maxTime: Double?

    @OptionGroup var listed: ListedLocatorOptions

    @OptionGroup var source: SourceOptions

    /// The exit status if some sources were not stored.
    private static let partialFailure = ExitCode(1)
    private static let defaultIdleTimeout: Double = 60

    func validate() throws {
        guard UploadFolder(self.target) != nil else {
            throw ValidationError("TARGET must be a URL that ends with '/'.")
        }
        guard !self.locators.isEmpty || self.fromFile != nil else {
            throw ValidationError("Specify at least one source.")
        }
        guard self.partSize.map({ S3Uploader.partByteCounts.contains($0.value) }) ?? true else {
            throw ValidationError("--part-size must be from 5MiB to 5GiB.")
        }
        guard self.retry >= 0 else { throw ValidationError("--retry cannot be negative.") }
        try Seconds.validate(self.retryMaxTime, "--retry-max-time")
        try Seconds.validate(self.maxTime, "--max-time")
    }

    /// Stores the sources or their parts, and prints a line for each.
    ///
    /// - Parameter step: The step for sources that are stored in parts; nil to store whole sources.
    func run(_ step: JobStep? = nil) throws {
        guard step == nil || self.target.hasPrefix("s3://") else {
            throw BlobError(.invalidArgument, "Parts can only be stored in S3 stores: TARGET must begin with s3://.")
        }
        var options = self.source
        options.reading.idleTimeout = options.reading.idleTimeout ?? Self.defaultIdleTimeout
        // An index on this machine does not provide random access on other machines.
        if step == .begin, options.archives.index == .automatic { options.archives.index = .none }
        let context = try options.makeContext()
        var retry = BlobRetry(maximumRetryCount: self.retry)
        retry.maximumWait = .seconds(self.retryMaxTime)
        let rate = self.limitRate.map { ByteAllowance(bytesPerSecond: $0.bytesPerSecond) }
        let target: any JobTarget =
            if self.target.hasPrefix("s3://") {
                try S3JobTarget(
                    self.target, options, retry: retry, rate: rate, partByteCount: self.partSize?.value, context)
            } else {
                try WebJobTarget(self.target, options, retry: retry, rate: rate, context)
            }
        options.web = options.web.withoutCredentials
        let sources = options.makeSources()
        var failed = false
        func put(_ entry: String, line number: Int? = nil) throws {
            try context.check()
            var own = context
            if let maxTime { own.deadline = .now + .seconds(maxTime) }
            if step == .begin {
                try self.check(entry, line: number, sources)
                return try self.printParts(of: entry, target, sources, own)
            }
            let line = try self.line(of: entry, number, step, target, sources, own, in: context)
            failed = failed || line.state == .failed
            try self.printLine(of: line)
        }
        for locator in self.locators { try put(locator) }
        if let fromFile {
            let lines = try LineReader(fromFile, sources.registry, context)
            while let line = try lines.next() {
                if !line.isEmpty { try put(RawArguments.decoded(line), line: lines.number) }
            }
        }
        if failed { throw Self.partialFailure }
    }

    private func check(_ locator: String, line number: Int?, _ sources: ArgumentSources) throws(BlobError) {
        guard let number, let fromFile else { return }
        try self.listed.check(locator, sources.registry, line: number, of: fromFile)
    }

    private func line(
        of entry: String, _ number: Int?, _ step: JobStep?, _ target: any JobTarget, _ sources: ArgumentSources,
        _ context: BlobContext, in job: BlobContext
    ) throws -> JobLine {
        let part = step == nil ? nil : JobPart(line: entry)
        let locator = part?.locator ?? entry
        let url = target.url(of: locator)
        var line = JobLine(
            locator: printableArgument(locator), url: printableURL(url), part: step == .parts ? part?.part : nil)
        do {
            // `finish` and `abort` open no source.
            if step != .finish, step != .abort { try self.check(locator, line: number, sources) }
            if let part, let store = target as? S3JobTarget {
                let upload = part.sharedUpload(url)
                let object = try waiting { () throws(BlobError) in
                    try await self.put(part, of: upload, step, store, sources, context)
                }
                if let object { line.take(object) } else { line.state = .aborted }
            } else if step == nil || step == .parts {
                let source = try sources.source(locator, context)
                line.take(
                    try waiting { () throws(BlobError) in try await target.put(source, to: url, context) })
            } else {
                throw BlobError(
                    .invalidArgument, "The line does not describe a part.", operation: "resolve", locator: line.locator)
            }
        } catch {
            // Once the whole job ends, the remaining sources get no line.
            try job.check()
            let error = BlobError(wrapping: error)
            // The parts remain in the store, and an engine retries a task that ends with this status.
            if step == .finish, error.isWorthRepeating { throw error }
            if !self.json { report(error) }
            line.error = ErrorText(error).fields
        }
        return line
    }

    /// Performs the step for a part; returns nil if the upload was aborted.
    private func put(
        _ part: JobPart, of upload: SharedMultipartUpload, _ step: JobStep?, _ store: S3JobTarget,
        _ sources: ArgumentSources, _ context: BlobContext
    ) async throws(BlobError) -> JobObject? {
        switch step {
        case .finish:
            return try await store.finish(upload, of: { try sources.source(part.locator, context) }, context)
        case .abort:
            try await store.abort(upload, context)
            return nil
        default: return try await store.put(part.part, of: upload, sources.source(part.locator, context), context)
        }
    }

    /// Prints the lines for a source: one line per part if the source is divided.
    ///
    /// Prints the locator if the source cannot be divided. The step that stores the source then reports any error.
    private func printParts(
        of locator: String, _ target: any JobTarget, _ sources: ArgumentSources, _ context: BlobContext
    ) throws {
        guard let store = target as? S3JobTarget, let source = try? sources.source(locator, context),
            let (upload, parts) = try? waiting(for: { () throws(BlobError) in
                try await store.begin(source, to: store.url(of: locator), context)
            })
        else { return try blob.printLine(locator) }
        do {
            for (number, range) in zip(1..., parts) {
                try blob.printLine(jsonLine(JobPart(locator, upload, part: number, length: range.count)))
            }
        } catch {
            try? waiting { () throws(BlobError) in try await store.abort(upload, context) }
            throw error
        }
    }

    private func printLine(of line: JobLine) throws {
        guard !self.json else { return try blob.printLine(jsonLine(line)) }
        guard line.state != .failed else { return }
        try blob.printLine("\(line.sha256 ?? line.etag ?? "-")  \(line.url)  \(printable(line.locator))")
    }
}

/// A report about a source or one of its parts.
private struct JobLine: Encodable {
    enum State: String, Encodable {
        case stored, exists, failed, aborted
    }

    let locator: String
    let url: String
    var part: Int?
    var state = State.failed
    var bytes: Int64?
    var sha256: String?
    var etag: String?
    var error: JSONObject?

    mutating func take(_ object: JobObject) {
        (self.state, self.bytes) = (object.isNew ? .stored : .exists, object.byteCount)
        (self.sha256, self.etag) = (object.sha256, object.entityTag)
    }
}

/// A step with which separate tasks store the parts of a source.
enum JobStep {
    case begin, parts, finish, abort
}

/// A part of a source as a line of a list, with everything another process needs to store it.
struct JobPart: Codable {
    let locator: String
    /// The identifier that the store assigned to the upload.
    let upload: String
    /// The number of the part, starting at 1.
    let part: Int
    /// The number of bytes in this part, used as its weight among the others.
    let length: Int64
    /// The number of bytes of the source, and of each part except the last.
    let bytes, partSize: Int64
    /// The token of the source's validator.
    let validator: String

    private enum CodingKeys: String, CodingKey {
        case locator, upload, part, length, bytes, validator
        case partSize = "part_size"
    }

    init(_ locator: String, _ upload: SharedMultipartUpload, part: Int, length: Int) {
        (self.locator, self.upload, self.part, self.length) = (locator, upload.identifier, part, Int64(length))
        (self.bytes, self.partSize, self.validator) = (upload.byteCount, upload.partByteCount, upload.validator)
    }

    /// Creates a part from its line; fails for any other line, which is a locator.
    init?(line: String) {
        guard line.hasPrefix("{"), let part = try? JSONDecoder().decode(JobPart.self, from: Data(line.utf8)) else {
            return nil
        }
        self = part
    }

    /// Returns the upload that stores the object at a URL.
    func sharedUpload(_ url: String) -> SharedMultipartUpload {
        SharedMultipartUpload(
            object: url, identifier: self.upload, byteCount: self.bytes, partByteCount: self.partSize,
            validator: self.validator)
    }
}
#endif
