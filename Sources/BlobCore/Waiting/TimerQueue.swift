/// The timers and their wakers, soonest first; timers with the same deadline in the order in which they were added.
///
/// A value without a clock. Removal leaves a place in the heap, and those places are swept out as soon as they are half
/// of it: a timer that is added and removed costs O(log n), and no memory until its deadline.
package struct TimerQueue {
    private struct Place {
        let deadline: ContinuousClock.Instant
        let key: UInt64

        func precedes(_ other: Place) -> Bool { (self.deadline, self.key) < (other.deadline, other.key) }
    }

    /// The number of unused places that are not worth a sweep.
    private static let smallCount = 64

    private var wakers: [UInt64: BlobWaker] = [:]
    private var heap: [Place] = []

    package init() {}

    /// The number of timers.
    package var count: Int { self.wakers.count }

    /// The number of places in the heap, including those of removed timers.
    package var heapCount: Int { self.heap.count }

    /// The deadline of the next timer; nil when there is none.
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
    /// - Returns: The waker of the timer, which must be released outside of any lock.
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
        // A dictionary keeps its largest capacity, so it is made anew.
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
