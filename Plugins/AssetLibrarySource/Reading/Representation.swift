#if Photos
import BlobCore

/// The state of a reader's asset in the catalogue, and of its file.
///
/// A state machine without I/O: the reader reports events, and performs the resulting actions. A watch of the library
/// may also invalidate the state, on another thread.
struct Representation: Equatable, Sendable {
    /// The reason why the file is no longer known to be correct.
    enum Reason: Equatable, Sendable {
        /// The file was moved, renamed or removed.
        case moved
        /// The file was modified.
        case edited
        /// The file cannot be read.
        case offline
        /// The catalogue describes the asset differently, or no longer contains it.
        case recatalogued
    }

    enum State: Equatable, Sendable {
        case unresolved
        /// The catalogue is being queried and a file opened; `attempt` counts from 1.
        case resolving(attempt: Int)
        case ready
        case invalidated(Reason)
        case failed, ended, closed
    }

    /// The maximum number of attempts to find a file; the count restarts after bytes were delivered.
    static let maximumAttemptCount = 3

    private(set) var state = State.unresolved
    private var attempt = 0
    /// True from an invalidation until the file is found again.
    private var isRecovering = false
    /// The reason for an invalidation during an attempt; nil if the attempt is still valid.
    private var lateReason: Reason?

    /// The facts in the catalogue on which the reader depends; nil once the asset was removed.
    var record: AssetRecord?
    /// The offset of the next byte to fetch.
    private(set) var byteOffset: Int64 = 0

    init(_ record: AssetRecord? = nil, at byteOffset: Int64 = 0) {
        self.record = record
        self.byteOffset = byteOffset
    }

    /// Begins an attempt to find the file.
    ///
    /// - Returns: The time to wait before the attempt; nil if the attempts are exhausted, which makes the reader fail,
    ///   or if the reader has failed, ended or been closed.
    mutating func resolve() -> Duration? {
        switch self.state {
        case .failed, .ended, .closed: return nil
        case .unresolved, .resolving, .ready, .invalidated: break
        }
        guard self.attempt < Self.maximumAttemptCount else {
            self.state = .failed
            return nil
        }
        self.attempt += 1
        self.state = .resolving(attempt: self.attempt)
        // Moving a file between two folders takes a moment: try immediately, after 20 ms, and after another 100 ms.
        return [.zero, .milliseconds(20), .milliseconds(100)][self.attempt - 1]
    }

    /// Ends an attempt that found the file.
    ///
    /// - Returns: False if the file was invalidated in the meantime, so that another attempt must follow.
    @discardableResult mutating func becomeReady() -> Bool {
        guard case .resolving = self.state else { return self.state == .ready }
        guard self.lateReason.take() == nil else { return false }
        (self.state, self.isRecovering) = (.ready, false)
        return true
    }

    /// Records that verified bytes up to an offset were delivered.
    mutating func deliver(upTo byteOffset: Int64) { (self.attempt, self.byteOffset) = (0, byteOffset) }

    mutating func invalidate(_ reason: Reason) {
        switch self.state {
        case .ready: (self.state, self.isRecovering) = (.invalidated(reason), true)
        case .resolving: self.lateReason = reason
        case .unresolved, .invalidated, .failed, .ended, .closed: break
        }
    }

    /// Returns the event for the transition from `old`; nil for transitions without an event.
    func event(since old: Self) -> BlobEvent? {
        switch (old.state, self.state) {
        case (.ready, .invalidated): BlobEvent(.invalidated, self.byteOffset)
        case (.invalidated, .resolving): BlobEvent(.recovering, self.byteOffset)
        case (.resolving, .ready) where old.isRecovering: BlobEvent(.recovered, self.byteOffset)
        default: nil
        }
    }

    mutating func fail() {
        if self.state != .closed, self.state != .ended { self.state = .failed }
    }

    mutating func end() {
        if self.state == .ready { self.state = .ended }
    }

    mutating func close() { self.state = .closed }
}

/// The facts in the catalogue on which the reader of an asset depends.
struct AssetRecord: Equatable, Sendable {
    private let sha256: [UInt8]
    private let storedPath: String
    /// The generation of the asset; nil for a reader of the original, which adjustments do not affect.
    private let generation: Int64?

    init(_ asset: Asset, _ version: AssetSource.Version) {
        self.init(sha256: asset.sha256, storedPath: asset.storedPath, generation: asset.generation, version)
    }

    init(sha256: [UInt8], storedPath: String, generation: Int64, _ version: AssetSource.Version) {
        (self.sha256, self.storedPath) = (sha256, storedPath)
        self.generation = version == .current ? generation : nil
    }

    /// Returns true if both records have the same content, regardless of its path.
    func hasContent(of other: Self) -> Bool { self.sha256 == other.sha256 && self.generation == other.generation }
}
#endif
