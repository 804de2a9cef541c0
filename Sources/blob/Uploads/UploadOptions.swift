import ArgumentParser
import BlobHTTP
import BlobStreamsStandard
import BlobTransfer
import Foundation

/// The options of an upload request.
struct UploadOptions: ParsableArguments {
    /// The default idle limit of the connection: a server may need this time to store a large body.
    private static let defaultIdleLimit = Duration.seconds(60)

    /// The longest pause before a repetition; pauses double from one second.
    private static let longestPause = Duration.seconds(60)

    @Option(name: [.customShort("X", allowingJoined: true), .customLong("request")], help: "PUT or POST.")
    var method: HTTPUpload.Method?

    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
        help: "A header field: 'Name: value', or 'Name;' without a value.")
    var headers: [String] = []

    @Option(help: "Send at most this many bytes per second; k, M and G stand for powers of 1024.")
    var limitRate: ByteRate?

    @Option(
        help: """
            Retry at most this many times after transient errors; a POST only if the server received none of it, or \
            refused it.
            """)
    var retry = 0

    @Option(
        help: ArgumentHelp(
            "The encoding of raw bodies: gzip, or identity (unchanged, the default).",
            discussion: """
                The header then has Content-Encoding, the body is sent in chunks, and --offset counts encoded bytes. \
                Servers may decode it or store what they received, as blob receive does.
                """))
    var contentEncoding = ContentEncoding.identity

    func validate() throws {
        guard self.retry >= 0 else { throw ValidationError("--retry cannot be negative.") }
        for header in self.headers { _ = try self.field(header) }
    }

    func makeUpload(
        _ defaultMethod: HTTPUpload.Method, _ url: String, idleTimeout: Double?
    ) throws -> HTTPUpload {
        var upload = HTTPUpload(self.method ?? defaultMethod, url)
        for field in try self.headers.map(self.field) {
            if field.name.lowercased() == "transfer-encoding", field.value.lowercased() == "chunked" {
                upload.isChunked = true
            } else {
                upload.fields.append(field)
            }
        }
        upload.rateLimit = self.limitRate?.bytesPerSecond
        upload.idleLimit = idleTimeout.map { .seconds($0) } ?? Self.defaultIdleLimit
        return upload
    }

    /// Makes the request, and repeats it after transient errors, at most ``retry`` times.
    func send(_ source: any BlobInputStreamDataSource, _ upload: HTTPUpload, _ context: BlobContext) throws {
        let uploader = try HTTPUploader()
        var (pause, left) = (Duration.seconds(1), self.retry)
        var validator: BlobValidator?
        while let error = self.failure(of: {
            try uploader.upload(source, matching: validator, as: upload, context: context)
        }) {
            let canRepeat = error.isTransient && error.operation == "write"
            guard left > 0, canRepeat, source.traits.contains(.repeatable) else { throw error }
            report(error)
            left -= 1
            validator = try source.info(context).validator
            try context.pause(for: error.retryDelay ?? pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func failure(of attempt: () throws -> HTTPResponse) -> BlobError? {
        do {
            _ = try attempt()
            return nil
        } catch {
            return BlobError(wrapping: error)
        }
    }

    private func field(_ text: String) throws -> HTTPUpload.Field {
        guard let field = HTTPUpload.Field(line: text) else {
            throw ValidationError(
                text.contains(":")
                    ? "-H '\(text)': write 'Name;' for a field without a value."
                    : "-H takes 'Name: value', or 'Name;' without a value.")
        }
        return field
    }
}

extension HTTPUpload.Method: ExpressibleByArgument {}

extension BlobError {
    /// The delay that the server requested, if it is at most 255 seconds.
    fileprivate var retryDelay: Duration? {
        let text = (self.cause as? HTTPRefusal)?.response.value(of: "retry-after")
        return text.flatMap { UInt8($0) }.map { .seconds(Int($0)) }
    }
}

extension BlobContext {
    /// Waits for the duration; throws when the job is cancelled or times out before.
    fileprivate func pause(for duration: Duration) throws(BlobError) {
        let end = ContinuousClock.now + duration
        let signal = WaitSignal()
        let registration = self.cancellation.onCancel { signal.signal() }
        defer { registration.cancel() }
        while ContinuousClock.now < end {
            try self.check()
            _ = signal.wait(for: min(end, self.deadline ?? end) - .now)
        }
        try self.check()
    }
}
