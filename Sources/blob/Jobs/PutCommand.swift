#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

struct PutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Stores each source under a key derived from its locator, and prints a line for each.",
        discussion: """
            For tasks that engines such as Spark and Dask may repeat. TARGET is a URL that ends with '/', of a web \
            server that accepts PUT, or s3://bucket/prefix/. The key of an object is the hexadecimal SHA-256 of the \
            locator as written, so that a repetition finds the object, or stores the same one again.

            Sources are stored one after the other. The line of each source is printed before the next begins: its \
            digest and its URL, or with --json an object with locator, url, bytes, state (stored, exists or failed), \
            sha256 or etag, and error. In the locator of a server, '***' replaces secrets; the key in its URL \
            identifies the source. An object exists if the server states the right digest; if the server does not \
            replace objects (If-None-Match) and states no digest, if its bytes, which are read back, are the same; in \
            an S3 store, if its tag is the MD5 of the source, or the tag of its parts of --part-size. Any other object \
            is replaced.

            Exit status: 0, all sources are stored; 1, some are not, and their lines contain the errors; any other, \
            the command stopped early, and sources without a line were not processed. A closed standard output ends \
            the command before the next source.

            In an S3 store, separate tasks can store the parts of a large source. --step begin prints one line of JSON \
            per part for each source that is longer than a part and has a strong validator, such as the ETag of a web \
            server, and the locator of any other source. --step parts stores such lines in any order, on any machine. \
            --step finish takes one line of each divided source, and completes its object, or drops its parts if it \
            cannot be completed, for example because one is missing; the source is read only to compare it with an \
            existing object. After a temporary error the status is not 1, and the step should be repeated. --step \
            abort drops the parts.
            """)

    @Argument(help: "A URL that ends with '/'.")
    var target: String

    @Argument(help: "The sources: one locator each; folders and patterns are not accepted.")
    var locators: [String] = []

    @Option(
        help: ArgumentHelp(
            "Also store the sources listed in this file ('-': standard input), one per line.", valueName: "file"))
    var fromFile: String?

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Option(help: "Perform one step for sources stored in parts: begin, parts, finish or abort. Lines are JSON.")
    var step: PutStep?

    @Option(help: "The size of the parts in S3 stores, from 5MiB to 5GiB (default: 16MiB).")
    var partSize: ByteCount?

    @Option(help: "Retry each source at most this many times after transient errors.")
    var retry = 5

    @Option(help: Seconds.retryHelp)
    var retryMaxTime = Seconds.defaultRetryTime

    @Option(help: "Send at most this many bytes per second; k, M and G are powers of 1024.")
    var limitRate: ByteRate?

    @Option(
        help: ArgumentHelp(
            "The maximum time for one source, including retries (default: no limit).", valueName: "seconds"))
    var maxTime: Double?

    @OptionGroup var listed: ListedLocatorOptions

    @OptionGroup var source: SourceOptions

    /// The exit status if some sources are not stored.
    private static let someFailed = ExitCode(1)
    private static let defaultIdleTimeout: Double = 60

    func validate() throws {
        guard UploadFolder(self.target) != nil else {
            throw ValidationError("TARGET must be a URL that ends with '/'.")
        }
        guard !self.locators.isEmpty || self.fromFile != nil else { throw ValidationError("Name at least one source.") }
        guard self.step == nil || self.target.hasPrefix("s3://") else {
            throw ValidationError("--step is for TARGETs in S3 stores.")
        }
        guard self.partSize.map({ S3Uploader.partByteCounts.contains($0.value) }) ?? true else {
            throw ValidationError("--part-size takes a size from 5MiB to 5GiB.")
        }
        guard self.retry >= 0 else { throw ValidationError("--retry cannot be negative.") }
        try Seconds.validate(self.retryMaxTime, "--retry-max-time")
        try Seconds.validate(self.maxTime, "--max-time")
    }

    func run() throws {
        var options = self.source
        options.idleTimeout = options.idleTimeout ?? Self.defaultIdleTimeout
        // An index on this machine does not provide random access on others.
        if self.step == .begin, options.index == .automatic { options.index = .none }
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
            if self.step == .begin {
                try self.check(entry, line: number, sources)
                return try self.printParts(of: entry, target, sources, own)
            }
            let line = try self.line(of: entry, number, target, sources, own, in: context)
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
        if failed { throw Self.someFailed }
    }

    private func check(_ locator: String, line number: Int?, _ sources: ArgumentSources) throws(BlobError) {
        guard let number, let fromFile else { return }
        try self.listed.check(locator, sources.registry, line: number, of: fromFile)
    }

    private func line(
        of entry: String, _ number: Int?, _ target: any JobTarget, _ sources: ArgumentSources, _ context: BlobContext,
        in job: BlobContext
    ) throws -> PutLine {
        let part = self.step == nil ? nil : PutPart(line: entry)
        let locator = part?.locator ?? entry
        let url = target.url(of: locator)
        var line = PutLine(
            locator: printableArgument(locator), url: printableURL(url), part: self.step == .parts ? part?.part : nil)
        do {
            // The steps `finish` and `abort` open no source.
            if self.step != .finish, self.step != .abort { try self.check(locator, line: number, sources) }
            if let part, let store = target as? S3JobTarget {
                let upload = part.divided(url)
                let object = try waiting { () throws(BlobError) in
                    try await self.put(part, of: upload, store, sources, context)
                }
                if let object { line.take(object) } else { line.state = .aborted }
            } else if self.step == nil || self.step == .parts {
                let source = try sources.source(locator, context)
                line.take(
                    try waiting { () throws(BlobError) in try await target.put(source, to: url, context) })
            } else {
                throw BlobError(
                    .invalidArgument, "The line does not describe a part.", operation: "resolve", locator: line.locator)
            }
        } catch {
            // When the whole job ends, the remaining sources get no line.
            try job.check()
            let error = BlobError(wrapping: error)
            // The parts stay in the store, and an engine repeats a task that ends with this status.
            if self.step == .finish, error.isWorthRepeating { throw error }
            if !self.json { report(error) }
            line.error = ErrorText(error).fields
        }
        return line
    }

    /// Performs the step for a part; returns nil if the upload was aborted.
    private func put(
        _ part: PutPart, of upload: SharedMultipartUpload, _ store: S3JobTarget, _ sources: ArgumentSources,
        _ context: BlobContext
    ) async throws(BlobError) -> JobObject? {
        switch self.step {
        case .finish:
            return try await store.finish(upload, of: { try sources.source(part.locator, context) }, context)
        case .abort:
            try await store.abort(upload, context)
            return nil
        default: return try await store.put(part.part, of: upload, sources.source(part.locator, context), context)
        }
    }

    /// Prints the lines for a source: one per part if it is divided.
    ///
    /// An error is left to the step that stores the source.
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
                try blob.printLine(jsonLine(PutPart(locator, upload, part: number, length: range.count)))
            }
        } catch {
            try? waiting { () throws(BlobError) in try await store.abort(upload, context) }
            throw error
        }
    }

    private func printLine(of line: PutLine) throws {
        guard !self.json else { return try blob.printLine(jsonLine(line)) }
        guard line.state != .failed else { return }
        try blob.printLine("\(line.sha256 ?? line.etag ?? "-")  \(line.url)  \(printable(line.locator))")
    }
}

/// The report about one source or one part of it.
private struct PutLine: Encodable {
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

/// A step of `blob put` that lets separate tasks store the parts of a source.
enum PutStep: String, ExpressibleByArgument, CaseIterable {
    case begin, parts, finish, abort
}

/// A part of a source as a line of a list, with everything that another process needs to store it.
struct PutPart: Codable {
    let locator: String
    /// The identifier that the store assigned to the upload.
    let upload: String
    /// The number of the part, from 1.
    let part: Int
    /// The number of bytes of this part, as its weight among the others.
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

    /// Creates a part from its line; nil for any other line, which is a locator.
    init?(line: String) {
        guard line.hasPrefix("{"), let part = try? JSONDecoder().decode(PutPart.self, from: Data(line.utf8)) else {
            return nil
        }
        self = part
    }

    /// Returns the upload that stores the object at a URL.
    func divided(_ url: String) -> SharedMultipartUpload {
        SharedMultipartUpload(
            object: url, identifier: self.upload, byteCount: self.bytes, partByteCount: self.partSize,
            validator: self.validator)
    }
}
#endif
