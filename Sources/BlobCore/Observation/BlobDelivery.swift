public import Dispatch

/// The executor on which the handler of an observation runs.
///
/// A handler is always called for one change at a time and in order, also on a concurrent queue. Unless delivery is
/// immediate, an observation has at most one job scheduled at a time. Changes that wait for the job are coalesced by
/// the rule of the ``BlobObservable``, however long they wait, and keep the observable alive;
/// ``BlobRegistration/cancel()`` drops them.
public struct BlobDelivery: Sendable {
    /// The connection of one observer to its executor.
    package struct Connection: Sendable {
        package let schedule: @Sendable () -> Void
        package let close: @Sendable () -> Void

        package init(schedule: @escaping @Sendable () -> Void, close: @escaping @Sendable () -> Void = {}) {
            (self.schedule, self.close) = (schedule, close)
        }
    }

    /// Connects an observer, whose `job` calls the handler for the waiting changes; nil calls it immediately.
    let connect: (@Sendable (_ job: @escaping @Sendable () -> Void) -> Connection)?

    package init(connect: (@Sendable (_ job: @escaping @Sendable () -> Void) -> Connection)?) { self.connect = connect }

    /// Creates a delivery through a custom executor.
    ///
    /// - Parameter schedule: A closure that schedules the job to run once, soon, on any thread. May be called on any
    ///   thread.
    public init(schedule: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Void) {
        self.init(connect: { job in Connection(schedule: { schedule(job) }) })
    }

    /// Delivers on the thread that makes a change, or on one that is already delivering.
    public static let immediate = BlobDelivery(connect: nil)

    /// Delivers on a queue, serial or concurrent.
    public static func queue(_ queue: DispatchQueue) -> BlobDelivery { BlobDelivery { queue.async(execute: $0) } }
}
