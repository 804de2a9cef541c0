package import BlobCore

/// Remembers what an observer of jobs is told.
package struct ActivityRecorder: BlobActivityObserver {
    /// An activity at its end; the names of those over it are in order, the job is last.
    package struct Ended: Sendable {
        package let kind: BlobActivity.Kind
        package let name: String
        package let parents: [String]
        package let subject: String?
        package let state: BlobActivity.State
        package let error: BlobError.Code?
    }

    package let begun = Locked(0)
    package let ended = Locked<[Ended]>([])
    package let events = Locked<[(BlobEvent, of: String)]>([])
    package let read = Locked<[String: Int64]>([:])

    package func begin(_ activity: BlobActivity) -> (any Sendable)? {
        self.begun.withLock { $0 += 1 }
        return nil
    }

    package func report(_ event: BlobEvent, in activity: BlobActivity) {
        self.events.withLock { $0.append((event, activity.name)) }
    }

    package func advance(_ activity: BlobActivity, read: Int64, sent: Int64) {
        self.read.withLock { $0[activity.name, default: 0] += read }
    }

    package func end(_ activity: BlobActivity, _ error: BlobError?) {
        let parents = sequence(first: activity) { $0.parent }.dropFirst().map(\.name)
        self.ended.withLock {
            $0.append(
                Ended(
                    kind: activity.kind, name: activity.name, parents: Array(parents), subject: activity.subject,
                    state: activity.state, error: error?.code))
        }
    }

    package func requestFields(of activity: BlobActivity) -> [(name: String, value: String)] {
        [("traceparent", "00-\(activity.name)"), ("bad", "1\r\nsmuggled: 2")]
    }

    package init() {}

    /// The context of a job that is observed.
    package var context: BlobContext {
        var context = BlobContext()
        context.activity = BlobActivity(observer: self)
        return context
    }
}
