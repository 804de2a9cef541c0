import BlobPlatform

/// The only thread of the process that waits for descriptors and runs timers.
///
/// The first use starts it, and it sleeps until something is ready or due. Wakers are called on it, outside of its
/// lock.
package final class EventLoop: Sendable {
    package static let shared = EventLoop()

    private struct State {
        var isStarted = false
        var poller: Poller?
        var lastKey: UInt64 = 0
        var parkings = ParkingTable()
        var timers = TimerQueue()
        /// True while a timer that is due before `sleepEnd` must wake the thread.
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

    /// The time after which the thread retries to make a poller, whose two descriptors may be unavailable.
    private static let patience = Duration.milliseconds(10)
    /// The longest delay: a century, longer than any machine runs and short enough for arithmetic without overflow.
    private static let longestDelay = Duration.seconds(100 * 366 * 86400)

    /// The key of a thread-specific value that only the threads of loops have.
    private static let threadMark = makeThreadKey()

    private let state = Locked(State())

    /// True on the thread of the loop, which must not block.
    package static var isCurrentThread: Bool { pthread_getspecific(self.threadMark) != nil }

    /// The number of places in the heap of timers, for tests: the places of removed timers are swept out.
    package var timerHeapCount: Int { self.state.withLock { $0.timers.heapCount } }

    /// False when the system has no thread to give for the loop, which is started if it was not.
    package var isRunning: Bool { self.state.withLock { self.start(&$0) } }

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
            // Too early, as a waker may be called, is better than never.
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
            // Timers that a waker starts are left for the next turn, so that they do not delay descriptors.
            let now = ContinuousClock.now
            while let waker = self.state.withLock({ $0.timers.removeFirst(dueAt: now) }) { waker.wake() }
        }
    }

    /// Sleeps until something is ready or due, and returns the tags of the ready descriptors.
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
            // Taken one by one: a waker that an earlier one or another thread has removed meanwhile must not be called.
            for key in keys { self.takeParked(key, for: descriptor)?.wake() }
        }
    }

    /// Removes a parking, if it still exists, and stops watching the descriptor with the last one.
    private func takeParked(_ key: UInt64, for descriptor: CInt) -> BlobWaker? {
        self.state.withLock { state in
            let parking = state.parkings.remove(key, for: descriptor)
            if parking?.isLast == true { state.poller?.unwatch(descriptor) }
            return parking?.waker
        }
    }
}

/// The wakers that are parked on descriptors.
///
/// A value without system calls. A descriptor gets a new tag each time that it is watched: an event that was pending
/// meanwhile, or that comes from a file to which the number belonged before, has an old tag and wakes nothing.
struct ParkingTable {
    private typealias Waiting = (key: UInt64, waker: BlobWaker)

    private struct Parked {
        var generation: UInt32
        var first: Waiting
        /// Usually empty: an array for a single waker would be a third of the memory of a parking.
        var others: [Waiting] = []
    }

    private var parked: [CInt: Parked] = [:]
    private var lastGeneration: UInt32 = 0

    /// Adds a waker.
    ///
    /// - Returns: The tag with which the descriptor must be watched from now on.
    mutating func insert(_ waker: BlobWaker, key: UInt64, for descriptor: CInt) -> UInt64 {
        self.lastGeneration &+= 1
        if self.parked[descriptor]?.others.append((key, waker)) == nil {
            self.parked[descriptor] = Parked(generation: self.lastGeneration, first: (key, waker))
        }
        self.parked[descriptor]?.generation = self.lastGeneration
        return UInt64(self.lastGeneration) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }

    /// Returns the descriptor of an event and the keys of its wakers; nil when the tag is an old one.
    func parked(for tag: UInt64) -> (descriptor: CInt, keys: [UInt64])? {
        let descriptor = CInt(truncatingIfNeeded: tag)
        guard let parked = self.parked[descriptor], parked.generation == UInt32(tag >> 32) else { return nil }
        return (descriptor, [parked.first.key] + parked.others.map(\.key))
    }

    /// Removes a waker, if it still exists. It must be released outside of any lock.
    ///
    /// - Returns: The waker, and whether it was the last one of its descriptor.
    mutating func remove(_ key: UInt64, for descriptor: CInt) -> (waker: BlobWaker, isLast: Bool)? {
        guard let parked = self.parked[descriptor] else { return nil }
        if parked.first.key != key {
            guard let index = parked.others.firstIndex(where: { $0.key == key }) else { return nil }
            return (self.parked[descriptor]?.others.remove(at: index).waker).map { ($0, false) }
        }
        if let next = parked.others.first {
            self.parked[descriptor]?.first = next
            self.parked[descriptor]?.others.removeFirst()
        } else {
            self.parked[descriptor] = nil
        }
        return (parked.first.waker, parked.others.isEmpty)
    }
}
