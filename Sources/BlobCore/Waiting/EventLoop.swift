import BlobPlatform

/// The only thread of the process that waits for descriptors and runs timers.
///
/// The first use starts it, and it sleeps until a descriptor is ready or a timer is due. It calls wakers outside its
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

        mutating func startedPoller() throws(BlobError) -> Poller {
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

    /// The time after which the thread tries again to create a poller, whose two descriptors may be unavailable.
    private static let pollerRetryDelay = Duration.milliseconds(10)
    /// The longest delay: a century, longer than any machine runs and short enough for arithmetic without overflow.
    private static let longestDelay = Duration.seconds(100 * 366 * 86400)

    /// The key of a thread-specific value that only event loop threads have.
    private static let threadMark = makeThreadKey()

    private let state = Locked(State())

    /// True on the thread of the loop, which must not block.
    package static var isCurrentThread: Bool { pthread_getspecific(self.threadMark) != nil }

    /// The number of entries in the heap of timers, for tests of the removal of unused entries.
    package var timerHeapCount: Int { self.state.withLock { $0.timers.heapCount } }

    /// True if the loop is running; getting this property starts it if necessary. False if the system cannot start a
    /// thread.
    package var isRunning: Bool { self.state.withLock { self.start(&$0) } }

    /// See ``BlobContext/park(_:_:)``.
    func park(_ descriptor: CInt, _ waker: BlobWaker) throws(BlobError) -> BlobRegistration {
        let key = try self.state.withLock { state throws(BlobError) -> UInt64? in
            let poller = try state.startedPoller()
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
            // A waker may be called early, and early is better than never.
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
            // Timers that a waker starts are left for the next iteration, so that they do not delay descriptors.
            let now = ContinuousClock.now
            while let waker = self.state.withLock({ $0.timers.removeFirst(dueAt: now) }) { waker.wake() }
        }
    }

    /// Sleeps until a descriptor is ready or a timer is due, and returns the tags of the ready descriptors.
    private func sleep() -> [UInt64] {
        let (poller, timeout) = self.state.withLock { state in
            let poller = try? state.startedPoller()
            state.isAsleep = true
            state.sleepEnd = state.timers.firstDeadline
            return (poller, state.sleepEnd.map { max(.zero, ContinuousClock.now.duration(to: $0)) })
        }
        defer { self.state.withLock { $0.isAsleep = false } }
        if let poller { return poller.wait(timeout) }
        let pollerRetryDelay = min(timeout ?? Self.pollerRetryDelay, Self.pollerRetryDelay)
        _ = poll(nil, 0, CInt((pollerRetryDelay.timeInterval * 1000).rounded(.up)))
        return []
    }

    private func wake(_ tags: [UInt64]) {
        for tag in tags {
            guard let (descriptor, keys) = self.state.withLock({ $0.parkings.parked(for: tag) }) else { continue }
            // Taken one by one: a waker that an earlier waker or another thread has removed meanwhile must not be
            // called.
            for key in keys { self.takeParked(key, for: descriptor)?.wake() }
        }
    }

    /// Removes a parked waker, if it still exists, and stops watching the descriptor after the last one.
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
/// A value without system calls. A descriptor receives a new tag each time it is watched: an event that was pending
/// meanwhile, or that comes from a file to which the number belonged before, has an old tag and wakes nothing.
private struct ParkingTable {
    private typealias Waiting = (key: UInt64, waker: BlobWaker)

    private struct Parked {
        var generation: UInt32
        var first: Waiting
        /// Usually empty: an array for a single waker would take a third of the memory of a parked waker.
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

    /// Returns the descriptor of an event and the keys of its wakers; nil if the tag is outdated.
    func parked(for tag: UInt64) -> (descriptor: CInt, keys: [UInt64])? {
        let descriptor = CInt(truncatingIfNeeded: tag)
        guard let parked = self.parked[descriptor], parked.generation == UInt32(tag >> 32) else { return nil }
        return (descriptor, [parked.first.key] + parked.others.map(\.key))
    }

    /// Removes a waker, if it still exists. The caller must release it outside any lock.
    ///
    /// - Returns: The waker, and whether it was the descriptor's last one.
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

/// The timers and their wakers, soonest first; timers with the same deadline in the order in which they were added.
///
/// A value without a clock. Removing a timer leaves an unused entry in the heap; unused entries are swept out as soon
/// as they make up half of it. A timer that is added and removed therefore costs O(log n), and takes no memory until
/// its deadline.
package struct TimerQueue {
    private struct Place {
        let deadline: ContinuousClock.Instant
        let key: UInt64

        func precedes(_ other: Place) -> Bool { (self.deadline, self.key) < (other.deadline, other.key) }
    }

    /// The number of unused entries below which a sweep is not worthwhile.
    private static let smallCount = 64

    private var wakers: [UInt64: BlobWaker] = [:]
    private var heap: [Place] = []

    package init() {}

    /// The number of timers.
    package var count: Int { self.wakers.count }

    /// The number of entries in the heap, including the entries of removed timers.
    package var heapCount: Int { self.heap.count }

    /// The deadline of the next timer; nil if the queue is empty.
    package var firstDeadline: ContinuousClock.Instant? {
        mutating get {
            while let first = self.heap.first {
                if self.wakers[first.key] != nil { return first.deadline }
                self.removeFirst()
            }
            return nil
        }
    }

    /// Adds a timer. `key` must be larger than all keys before it.
    package mutating func insert(_ waker: BlobWaker, key: UInt64, at deadline: ContinuousClock.Instant) {
        self.wakers[key] = waker
        self.heap.append(Place(deadline: deadline, key: key))
        var child = self.heap.count - 1
        while child > 0, case let parent = (child - 1) / 2, self.heap[child].precedes(self.heap[parent]) {
            self.heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Removes a timer, if it still exists.
    ///
    /// - Returns: The waker of the timer; the caller must release it outside any lock.
    package mutating func remove(_ key: UInt64) -> BlobWaker? {
        let waker = self.wakers.removeValue(forKey: key)
        if waker != nil { self.sweep() }
        return waker
    }

    /// Removes the first timer if it is due at `now`, and returns its waker.
    package mutating func removeFirst(dueAt now: ContinuousClock.Instant) -> BlobWaker? {
        guard let deadline = self.firstDeadline, deadline <= now else { return nil }
        let key = self.removeFirst().key
        defer { self.sweep() }
        return self.wakers.removeValue(forKey: key)
    }

    private mutating func sweep() {
        guard self.heap.count > 2 * self.wakers.count + Self.smallCount else { return }
        self.heap = self.heap.filter { self.wakers[$0.key] != nil }
        // A dictionary keeps its largest capacity, so it is rebuilt.
        self.wakers = Dictionary(uniqueKeysWithValues: self.wakers.map { ($0, $1) })
        for place in (0..<self.heap.count / 2).reversed() { self.siftDown(from: place) }
    }

    @discardableResult
    private mutating func removeFirst() -> Place {
        self.heap.swapAt(0, self.heap.count - 1)
        let first = self.heap.removeLast()
        self.siftDown(from: 0)
        return first
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while case let left = 2 * parent + 1, left < self.heap.count {
            let right = left + 1
            let isRight = right < self.heap.count && self.heap[right].precedes(self.heap[left])
            let child = isRight ? right : left
            guard self.heap[child].precedes(self.heap[parent]) else { return }
            self.heap.swapAt(child, parent)
            parent = child
        }
    }
}

/// An instant of the system's monotonic clock.
///
/// Its size is known at compile time. The size of `ContinuousClock.Instant`, and of types that contain one, is known
/// only at run time, so each use of a ``BlobContext`` would require a look-up.
package struct CompactInstant: Comparable, Sendable {
    private static let origin = ContinuousClock.now
    private let sinceOrigin: Duration

    package init(_ instant: ContinuousClock.Instant) { self.sinceOrigin = Self.origin.duration(to: instant) }
    private init(sinceOrigin: Duration) { self.sinceOrigin = sinceOrigin }

    package static var now: Self { Self(.now) }
    package static func < (left: Self, right: Self) -> Bool { left.sinceOrigin < right.sinceOrigin }

    package static func + (left: Self, right: Duration) -> Self { Self(sinceOrigin: left.sinceOrigin + right) }
    package static func - (left: Self, right: Self) -> Duration { left.sinceOrigin - right.sinceOrigin }

    package var instant: ContinuousClock.Instant { Self.origin.advanced(by: self.sinceOrigin) }

    /// The time from an earlier instant to this one, in seconds.
    package func timeInterval(since earlier: Self) -> Double {
        (self.sinceOrigin - earlier.sinceOrigin) / .seconds(1)
    }

    /// The time until this instant, at least zero.
    package var remaining: Duration { max(.zero, self.sinceOrigin - Self.now.sinceOrigin) }
}
