#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// A protocol for uploads that can continue after an interruption.
enum Resumption: String, ExpressibleByArgument, CaseIterable {
    case none, tus, draft
    case s3

    /// The protocol of the upload engine; nil without a protocol, and for a store.
    var wireProtocol: ResumableUploadProtocol? { ResumableUploadProtocol(rawValue: self.rawValue) }
}

/// The options for resumable uploads.
struct ResumableOptions: ParsableArguments {
    @Option(
        name: .customLong("resumable"),
        help: ArgumentHelp(
            "Make uploads resumable with this protocol.",
            discussion: """
                Sources are uploaded one after the other; folders are not accepted. The URL is the server's URL for \
                creating uploads (tus 1.0, or the IETF draft "Resumable Uploads for HTTP", interop version 8 or 6); \
                the URL of the upload itself is printed at the end. After an error, the command asks the server how \
                many bytes it has received and sends the rest, until 8 (or --retry) errors in a row make no progress. \
                If the command is killed, running it again resumes the upload. If the source has changed, or the \
                server no longer has the upload, it starts from the beginning. For s3://bucket/key, use s3: parts that \
                the store already has are not sent again. Without it, uploaded parts are deleted after an error. The \
                default value is s3 for s3:// URLs and tus for others.
                """))
    var resumption = Resumption.none

    @Option(
        name: .customLong("state"),
        help: .advanced(
            "Keep the state for resuming an upload in this file (default: in ~/.local/state/blob).",
            valueName: "file"))
    var stateFile: String?

    @Option(
        name: .customLong("parallel"),
        help: .advanced(
            """
            Upload this many parts of a source concurrently, from 1 to \(Self.maximumPartCount); requires tus and a \
            server that concatenates parts.
            """, valueName: "parts"))
    var partCount = 1

    /// The maximum number of parts, because the final request lists all their URLs in one header field.
    private static let maximumPartCount = 16

    func validate() throws {
        guard self.resumption != .none || self.stateFile == nil else {
            throw ValidationError("--state requires --resumable.")
        }
        guard (1...Self.maximumPartCount).contains(self.partCount) else {
            throw ValidationError("--parallel must be a number from 1 to \(Self.maximumPartCount).")
        }
        guard self.resumption == .tus || self.partCount == 1 else {
            throw ValidationError("--parallel requires --resumable tus.")
        }
    }

    var isEnabled: Bool { self.resumption != .none }

    /// Returns the state file of one upload; nil if no folder is available for it.
    ///
    /// - Parameter words: The words that identify the upload: its source and its URL.
    func state(of words: [String]) -> UploadStateFile? {
        self.statePath(of: words).map { UploadStateFile(path: $0) }
    }

    /// Returns the path of the state file of one upload; nil if no folder is available for it.
    func statePath(of words: [String]) -> String? {
        if let stateFile { return stateFile }
        let environment = ProcessInfo.processInfo.environment
        // The XDG Base Directory Specification requires programs to ignore relative paths.
        let folders = [environment["XDG_STATE_HOME"], environment["HOME"].map { "\($0)/.local/state" }]
        guard let folder = folders.compactMap(\.self).first(where: { $0.hasPrefix("/") }) else { return nil }
        let digest = CryptoDigest.sha256.digest(of: Array(words.joined(separator: "\0").utf8)).hexadecimal
        return "\(folder)/blob/\(digest.prefix(32)).upload"
    }

    /// Uploads a source and returns the URL of the upload, blocking this thread.
    func send(
        _ source: any BlobInputStreamDataSource, _ upload: BlobUploadRequest, _ state: UploadStateFile?,
        boundary: String?, maximumFailureCount: Int?, _ context: BlobContext,
        onAttempt: @escaping @Sendable (RetryFailures.Attempt) -> Void, onCheck: @escaping @Sendable (String?) -> Void
    ) throws(BlobError) -> String {
        var uploader = ResumableUploader(upload)
        (uploader.stateFile, uploader.boundary) = (state, boundary)
        (uploader.maximumFailureCount, uploader.onAttempt, uploader.onCheck) = (maximumFailureCount, onAttempt, onCheck)
        (uploader.wireProtocol, uploader.partCount) = (self.resumption.wireProtocol ?? .tus, self.partCount)
        return try waiting { [uploader] () throws(BlobError) in try await uploader.upload(source, context: context) }
    }
}
#endif
