#if Photos
public import BlobCore
import Foundation

/// A watch that reports changes to a library by any process.
///
/// A change is detected within 100 ms of its commit if the file system reports events, as local file systems on Linux
/// do, and otherwise within 1.5 s. The watch uses the process's thread for timers and descriptors, a descriptor, and a
/// connection to the catalogue, and releases them when it is released. Readers do not depend on a watch, because they
/// verify the bytes that they read.
///
/// ```swift
/// let library = try AssetLibrary(at: url)
/// let watch = try library.watch()
/// let observation = watch.state.observe(\.lastChange) { print("The last change is number \($0.new ?? 0).") }
/// for try await change in watch.changes() { print(change.kind, change.assetID as Any) }
/// ```
public final class AssetLibraryWatch: Sendable {
    /// The state of a library, for observers.
    public struct State: Equatable, Sendable {
        /// The number of the last change, at least 1; 0 before the first change.
        public internal(set) var lastChange: Int64
        /// The number of times that the catalogue was replaced; each time, any asset may have changed.
        public internal(set) var resetCount = 0
    }

    /// The current state; changes may be coalesced, so that observers see only the latest.
    public let state: BlobObservable<State>

    let library: AssetLibrary
    private let events: FolderEvents?
    private let checkState: Locked<CheckState>
    private let context = BlobContext()

    private struct CheckState {
        var schedule = WatchSchedule()
        /// The last known commit; nil after a failure.
        var commit: CatalogueCommit?
        /// True while a thread checks for commits.
        var isBusy = false
        var timer: BlobRegistration?
        var parking: BlobRegistration?
    }

    init(_ library: AssetLibrary, usesEvents: Bool = true) throws(BlobError) {
        self.library = library
        // Created before the first check, so that no commit in between is missed.
        self.events = usesEvents ? FolderEvents(library.folder.path) : nil
        self.checkState = Locked(CheckState(commit: try library.lastCommit()))
        self.state = BlobObservable(State(lastChange: try library.catalogue.lastChange()), coalescing: { _, _ in true })
        self.wait()
    }

    deinit {
        // Cancelled before the descriptor is closed.
        let (timer, parking) = self.checkState.withLock { ($0.timer.take(), $0.parking.take()) }
        timer?.cancel()
        parking?.cancel()
    }

    /// Waits for the next event or the next scheduled check.
    private func wait() {
        let delay = self.checkState.withLock { $0.schedule.nextDelay() }
        self.scheduleCheck(after: delay)
        guard let events else { return }
        let record: @Sendable () -> Void = { [weak self] in
            self?.checkState.withLock { $0.schedule.record() }
            self?.scheduleCheck(after: WatchSchedule.shortDelay)
        }
        // Runs on a pool, because the last reference to this object may be released there. If parking fails, only the
        // timer triggers checks.
        let parking = try? self.context.park(events.descriptor, BlobWaker { BlockingPool.briefJobs.run(record) })
        let old = self.checkState.withLock { exchange(&$0.parking, with: parking) }
        withExtendedLifetime(old) {}
    }

    private func scheduleCheck(after delay: Duration) {
        let check: @Sendable () -> Void = { [weak self] in self?.checkForCommits() }
        let timer = self.context.wake(after: delay, BlobWaker { BlockingPool.briefJobs.run(check) })
        let old = self.checkState.withLock { exchange(&$0.timer, with: timer) }
        withExtendedLifetime(old) {}  // Released outside the lock.
    }

    /// Checks for commits, and publishes them.
    private func checkForCommits() {
        guard self.checkState.withLock({ !exchange(&$0.isBusy, with: true) }) else { return }
        self.events?.drain()
        let old = self.checkState.withLock { $0.commit }
        let commit = Result { () throws(BlobError) in try self.library.lastCommit() }
        switch commit {
        case .success(let commit) where !commit.isSame(as: old):
            // After a failure, the old commit is kept, so that the next check tries again.
            guard let lastChange = try? self.library.catalogue.lastChange() else { break }
            self.checkState.withLock { $0.commit = commit }
            self.state.update { state in
                let isReset = old.map { !commit.isOfSameFile(as: $0) } ?? false || lastChange < state.lastChange
                state = State(lastChange: lastChange, resetCount: state.resetCount + (isReset ? 1 : 0))
            }
        case .failure(let error) where error.code == .changed && old != nil:
            self.checkState.withLock { $0.commit = nil }
            self.state.update { $0.resetCount += 1 }
        case .success, .failure: break
        }
        self.checkState.withLock { $0.isBusy = false }
        self.wait()
    }
}

private func exchange<Value>(_ value: inout Value, with new: Value) -> Value {
    defer { value = new }
    return value
}

extension AssetLibrary {
    /// Returns the shared watch of this library, starting it if needed.
    ///
    /// - Throws: Errors from the catalogue.
    public func watch() throws(BlobError) -> AssetLibraryWatch {
        try self.sharedWatch.withLock { (shared) throws(BlobError) -> AssetLibraryWatch in
            if let watch = shared.watch { return watch }
            let watch = try AssetLibraryWatch(self)
            shared.watch = watch
            return watch
        }
    }
}

/// A weak reference to the shared watch.
struct SharedWatch {
    fileprivate weak var watch: AssetLibraryWatch?
}

/// The schedule on which a watch checks for commits, as a value without a clock.
///
/// An event of the folder announces a commit that may become visible only later, because SQLite synchronises the log in
/// between. Therefore, the watch checks frequently for some time after an event.
struct WatchSchedule {
    /// The delay between checks after an event, which also coalesces the events of one commit.
    static let shortDelay = Duration.milliseconds(25)
    /// The delay between checks at other times, for file systems without events.
    static let longDelay = Duration.seconds(1)
    /// The time after an event during which the short delay is used.
    static let shortDelayPeriod = Duration.seconds(1)

    private var remainingShortDelayCount = 0

    /// Records an event of the folder.
    mutating func record() { self.remainingShortDelayCount = Int(Self.shortDelayPeriod / Self.shortDelay) }

    /// Returns the delay until the next check.
    mutating func nextDelay() -> Duration {
        guard self.remainingShortDelayCount > 0 else { return Self.longDelay }
        self.remainingShortDelayCount -= 1
        return Self.shortDelay
    }
}
#endif
