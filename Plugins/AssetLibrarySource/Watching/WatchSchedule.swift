/// The times at which a watch looks for commits. A value without a clock.
///
/// An event of the folder announces a commit, which others may see only later: SQLite synchronises the log in between.
/// So the watch looks often for some time after an event.
struct WatchSchedule {
    /// The delay between looks after an event, which also coalesces the events of one commit.
    static let shortDelay = Duration.milliseconds(25)
    /// The delay between looks at other times, for file systems without events.
    static let longDelay = Duration.seconds(1)
    /// The time after an event in which looks follow each other at the short delay.
    static let attentiveness = Duration.seconds(1)

    private var attentiveLookCount = 0

    /// Records an event of the folder.
    mutating func record() { self.attentiveLookCount = Int(Self.attentiveness / Self.shortDelay) }

    /// Returns the delay until the next look.
    mutating func nextDelay() -> Duration {
        guard self.attentiveLookCount > 0 else { return Self.longDelay }
        self.attentiveLookCount -= 1
        return Self.shortDelay
    }
}
