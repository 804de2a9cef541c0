import BlobCore

/// What an upload tells the thread that waits for it, which alone calls the user's handlers.
final class UploadExchange: Sendable {
    /// The end of an upload.
    struct Ending: Sendable {
        let result: Result<HTTPResponse, BlobError>
        /// True when a connection that was used before broke before an answer.
        let isStale: Bool
        /// The connection of a success, which a reset may follow; to be checked and closed.
        let closing: PeerSocket?
        /// The error if it does.
        let resetError: BlobError?
    }

    struct News: Sendable {
        var sent: Int64?
        var answer: [UInt8] = []
        var ending: Ending?
    }

    /// The number of bytes of an answer from which no more are taken.
    private static let maximumAnswerByteCount = 64 * 1024

    /// Signalled when there are news.
    let signal = WaitSignal()
    private let news = Locked<News?>(nil)

    func note(sent: Int64) { self.tell { $0.sent = sent } }

    /// Takes bytes of the answer; returns false without taking any while too many wait.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard self.news.withLock({ $0?.answer.count ?? 0 }) < Self.maximumAnswerByteCount else { return false }
        self.tell { $0.answer += bytes }
        return true
    }

    func end(_ ending: Ending) { self.tell { $0.ending = ending } }

    /// Takes the news; nil when there are none.
    func take() -> News? { self.news.take() }

    private func tell(_ change: (inout News) -> Void) {
        let isFirst = self.news.withLock { news in
            defer {
                var changed = news ?? News()
                change(&changed)
                news = changed
            }
            return news == nil
        }
        if isFirst { self.signal.signal() }
    }
}
