import BlobCore
import BlobPlatform

/// The files that this receiver stored, keyed by the paths of their requests.
///
/// Senders ask for these files before they send a file again. The files of earlier receivers are unknown.
final class StoredFiles: Sendable {
    /// The maximum number of remembered files. Beyond it, all are discarded.
    private static let maximumCount = 100_000

    /// A file and its state directly after it was stored.
    private struct StoredFile {
        let part: ReceivedPart
        let state: FileStatus
    }

    private let files = Locked<[Substring: StoredFile]>([:])

    init() {}

    /// Remembers a file, replacing an earlier file at the request's path. The query is ignored.
    func add(_ part: ReceivedPart, at path: String) {
        let stored = part.file.flatMap { Self.state($0) }.map { StoredFile(part: part, state: $0) }
        self.files.withLock { files in
            if files.count >= Self.maximumCount { files = [:] }
            files[Self.key(path)] = stored
        }
    }

    /// Returns the file last stored for a request's path; nil if it does not exist or has changed.
    private func find(_ path: String) -> ReceivedPart? {
        guard let stored = self.files.withLock({ $0[Self.key(path)] }), let file = stored.part.file,
            Self.state(file) == stored.state
        else { return nil }
        return stored.part
    }

    /// Returns the receiver for a HEAD request. The response contains the length, the media type and the digest of the
    /// file at the path (RFC 9530), or has the status 404.
    func headReceiver(_ path: String) -> any BodyReceiver {
        guard let part = self.find(path) else { return AnsweredRequest(404) }
        let type = part.mediaType.map { [("Content-Type", $0)] } ?? []
        return AnsweredRequest(
            RequestAnswer(status: 200, fields: type + part.digestFields, body: nil, byteCount: part.byteCount))
    }

    /// Returns the status of a regular file; nil for any other file.
    private static func state(_ path: String) -> FileStatus? {
        FileStatus(at: path, followingLinks: false).flatMap { $0.isRegular ? $0 : nil }
    }

    private static func key(_ path: String) -> Substring { path.prefix { $0 != "?" && $0 != "#" } }
}
