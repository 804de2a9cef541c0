import Dispatch

/// Where the handler of an observation runs.
///
/// Everywhere a handler is called for one change at a time and in order, on a concurrent queue too. Away from the thread
/// that makes the changes, an observation has one job scheduled at a time. Changes that wait for the job are coalesced by
/// the rule of the ``BlobObservable``, however long that takes, and keep the observable alive; ``BlobObservation/cancel()``
/// drops them.
public struct BlobDelivery: Sendable {
    /// The connection of one observer to its executor.
    package struct Connection: Sendable {
        package let schedule: @Sendable () -> Void
        package let close: @Sendable () -> Void

        package init(schedule: @escaping @Sendable () -> Void, close: @escaping @Sendable () -> Void = {}) {
            (self.schedule, self.close) = (schedule, close)
        }
    }

    /// Connects an observer, whose `job` calls the handler for what waits; nil calls it on the spot.
    let connect: (@Sendable (_ job: @escaping @Sendable () -> Void) -> Connection)?

    package init(connect: (@Sendable (_ job: @escaping @Sendable () -> Void) -> Connection)?) { self.connect = connect }

    /// Creates a delivery through an executor of the caller's own.
    ///
    /// - Parameter schedule: Has the job run, once, soon, and anywhere. May be called by any thread.
    public init(schedule: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Void) {
        self.init(connect: { job in Connection(schedule: { schedule(job) }) })
    }

    /// Delivers on the thread that makes a change, or on one that is delivering already.
    public static let immediate = BlobDelivery(connect: nil)

    /// Delivers on a queue, serial or concurrent.
    public static func queue(_ queue: DispatchQueue) -> BlobDelivery { BlobDelivery { queue.async(execute: $0) } }

    /// Delivers isolated to an actor: the handler may say `actor.assumeIsolated { … }`.
    ///
    /// Does not keep the actor alive, which may hold the token of the observation. Without it there are no calls any more.
    public static func actor(_ actor: any Actor) -> BlobDelivery {
        BlobDelivery { [weak actor] job in
            guard let actor else { return }
            Task.detached { await Self.run(job, on: actor) }
        }
    }

    private static func run(_ job: @Sendable () -> Void, on actor: isolated any Actor) { job() }
}
