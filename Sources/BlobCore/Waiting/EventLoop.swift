import BlobPlatform

/// The one thread of the process that waits for descriptors and keeps timers.
///
/// It is started by the first use, and sleeps until something is ready or due. Wakers are called on it, outside of its lock.
package final class EventLoop: Sendable {
    package static let shared = EventLoop()

    private struct State {
        var isStarted = false
        var poller: Poller?
        var lastKey: UInt64 = 0
        var parkings = ParkingTable()
        var timers = TimerQueue()
        /// Whether a timer that is due before `sleepEnd` has to wake the thread.
        var isAsleep = false
        var sleepEnd: ContinuousClock.Instant?

        mutating func madePoller() throws(BlobError) -> Poller {
            if let poller { return poller }
            let poller = try Poller()
            self.poller = poller
            return poller
        }

        mutating func nextKey() -> UInt64 {
            self.lastKey += 1
            return self.lastKey
        }
    }

    /// How long the thread goes on without a poller, which takes two descriptors that may not be there to have.
    private static let patience = Duration.milliseconds(10)
    /// Far more than any machine runs, and little enough to reckon with: a century.
    private static let longestDelay = Duration.seconds(100 * 366 * 86400)

    /// Holds something on the threads of loops only. Made once; a process that has no key left has none of this.
    private static let threadMark = makeThreadKey()

    private let state = Locked(State())

    /// Whether the caller runs on the loop's thread, which must not block.
    package static var isCurrentThread: Bool { pthread_getspecific(self.threadMark) != nil }

    /// The places in the heap of timers, for tests: those of removed timers are swept out.
    package var timerHeapCount: Int { self.state.withLock { $0.timers.heapCount } }

    /// See ``BlobContext/park(_:_:)``.
    func park(_ descriptor: CInt, _ waker: BlobWaker) throws(BlobError) -> BlobRegistration {
        let key = try self.state.withLock { state throws(BlobError) -> UInt64? in
            let poller = try state.madePoller()
            guard self.start(&state) else {
                throw BlobError(systemError: EAGAIN, doing: "Could not start the thread that waits for descriptors")
            }
            let key = state.nextKey()
            let tag = state.parkings.insert(waker, key: key, for: descriptor)
            let isWatched = Result { () throws(BlobError) in try poller.watch(descriptor, tag: tag) }
            if (try? isWatched.get()) != true { _ = state.parkings.remove(key, for: descriptor) }
            return try isWatched.get() ? key : nil
        }
        guard let key else {
            waker.wake()
            return BlobRegistration(removal: nil)
        }
        return BlobRegistration { _ = self.takeParked(key, for: descriptor) }
    }

    /// See ``BlobContext/wake(after:_:)``.
    func wake(after delay: Duration, _ waker: BlobWaker) -> BlobRegistration {
        let deadline = ContinuousClock.now.advanced(by: min(max(delay, .zero), Self.longestDelay))
        let (key, poller) = self.state.withLock { state in
            let key = state.nextKey()
            guard self.start(&state) else { return (UInt64?.none, Poller?.none) }
            state.timers.insert(waker, key: key, at: deadline)
            let isSooner = state.sleepEnd.map { deadline < $0 } ?? true
            guard state.isAsleep, isSooner else { return (key, nil) }
            state.isAsleep = false
            return (key, state.poller)
        }
        poller?.wake()
        guard let key else {
            // Too early, which a waker may be called: rather than never.
            waker.wake()
            return BlobRegistration(removal: nil)
        }
        return BlobRegistration { _ = self.state.withLock { $0.timers.remove(key) } }
    }

    private func start(_ state: inout State) -> Bool {
        if !state.isStarted {
            state.isStarted = startThread(named: "BlobStreams") { self.run() }
        }
        return state.isStarted
    }

    private func run() {
        pthread_setspecific(Self.threadMark, Unmanaged.passUnretained(self).toOpaque())
        while true {
            self.wake(self.sleep())
            // Timers that a waker starts are for the next turn, so that they keep no descriptor waiting.
            let now = ContinuousClock.now
            while let waker = self.state.withLock({ $0.timers.removeFirst(dueAt: now) }) { waker.wake() }
        }
    }

    /// Returns the tags of the descriptors that are ready.
    private func sleep() -> [UInt64] {
        let (poller, timeout) = self.state.withLock { state in
            let poller = try? state.madePoller()
            state.isAsleep = true
            state.sleepEnd = state.timers.firstDeadline
            return (poller, state.sleepEnd.map { max(.zero, ContinuousClock.now.duration(to: $0)) })
        }
        defer { self.state.withLock { $0.isAsleep = false } }
        if let poller { return poller.wait(timeout) }
        let patience = min(timeout ?? Self.patience, Self.patience)
        _ = poll(nil, 0, CInt((patience.timeInterval * 1000).rounded(.up)))
        return []
    }

    private func wake(_ tags: [UInt64]) {
        for tag in tags {
            guard let (descriptor, keys) = self.state.withLock({ $0.parkings.parked(for: tag) }) else { continue }
            // Taken one by one: what an earlier waker or another thread has removed meanwhile must not start.
            for key in keys { self.takeParked(key, for: descriptor)?.wake() }
        }
    }

    /// Removes a parking, if it is still there, and lets its descriptor go with the last one.
    private func takeParked(_ key: UInt64, for descriptor: CInt) -> BlobWaker? {
        self.state.withLock { state in
            let parking = state.parkings.remove(key, for: descriptor)
            if parking?.isLast == true { state.poller?.unwatch(descriptor) }
            return parking?.waker
        }
    }
}
