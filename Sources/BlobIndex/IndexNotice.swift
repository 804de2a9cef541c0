import BlobCore

/// A use of an index file, for messages to a person. ``BlobEvent`` informs a job of the indexes made, without paths.
package enum IndexNotice: Hashable, Sendable {
    case built(path: String)
    case used(path: String)
    /// The reason is the end of a sentence: `it is damaged`.
    case refused(path: String, reason: String)

    private static let observer = Locked<(@Sendable (IndexNotice) -> Void)?>(nil)

    /// Sets the observer of all index files of the process, which is called on any thread.
    package static func observe(_ observer: @escaping @Sendable (IndexNotice) -> Void) {
        self.observer.withLock { $0 = observer }
    }

    func send() { Self.observer.withLock { $0 }?(self) }
}
