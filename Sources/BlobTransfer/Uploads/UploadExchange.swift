import BlobCore

/// The channel from an upload on the loop to its owner, which alone calls the user's handlers.
final class UploadExchange: Sendable {
    /// The end of a request.
    struct Ending: Sendable {
        let result: Result<BlobUploadResponse, BlobError>
        /// True when a connection that was used before broke before an answer.
        let isStale: Bool
    }

    struct News: Sendable {
        var sent: Int64?
        var answer: [UInt8] = []
        var ending: Ending?
    }

    /// The number of bytes of an answer from which no more are taken.
    private static let maximumAnswerByteCount = 64 * 1024

    private let news = Locked<News?>(nil)
    private let notify: @Sendable () -> Void

    /// - Parameter notify: Called when there are news, on the thread of the loop.
    init(notify: @escaping @Sendable () -> Void) { self.notify = notify }

    func note(sent: Int64) { self.tell { $0.sent = sent } }

    /// Takes bytes of the answer; returns false without taking any while too many wait.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard self.news.withLock({ $0?.answer.count ?? 0 }) < Self.maximumAnswerByteCount else { return false }
        self.tell { $0.answer += bytes }
        return true
    }

    /// - Parameter sent: The number of bytes sent, if that is news.
    func end(_ ending: Ending, sent: Int64? = nil) {
        self.tell { news in
            (news.ending, news.sent) = (ending, sent ?? news.sent)
        }
    }

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
        if isFirst { self.notify() }
    }
}
