/// The wakers that are due at some time, soonest first; those of one time in the order they were added.
///
/// A value without a clock. Removal leaves a place in the heap, and those places are swept out as soon as they are half
/// of it: a timer that comes and goes costs O(log n), and no memory until its time.
package struct TimerQueue {
    private struct Place {
        let deadline: ContinuousClock.Instant
        let key: UInt64

        func precedes(_ other: Place) -> Bool { (self.deadline, self.key) < (other.deadline, other.key) }
    }

    /// So few places are not worth a sweep.
    private static let smallCount = 64

    private var wakers: [UInt64: BlobWaker] = [:]
    private var heap: [Place] = []

    package init() {}

    /// How many timers there are.
    package var count: Int { self.wakers.count }

    /// How many places the heap has, those of removed timers included.
    package var heapCount: Int { self.heap.count }

    /// When the next timer is due.
    package var firstDeadline: ContinuousClock.Instant? {
        mutating get {
            while let first = self.heap.first {
                if self.wakers[first.key] != nil { return first.deadline }
                self.removeFirst()
            }
            return nil
        }
    }

    /// Adds a timer. `key` is larger than those before it.
    package mutating func insert(_ waker: BlobWaker, key: UInt64, at deadline: ContinuousClock.Instant) {
        self.wakers[key] = waker
        self.heap.append(Place(deadline: deadline, key: key))
        var child = self.heap.count - 1
        while child > 0, case let parent = (child - 1) / 2, self.heap[child].precedes(self.heap[parent]) {
            self.heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Removes a timer, if it is still there.
    ///
    /// - Returns: Its waker, to be let go of outside of any lock.
    package mutating func remove(_ key: UInt64) -> BlobWaker? {
        let waker = self.wakers.removeValue(forKey: key)
        if waker != nil { self.sweep() }
        return waker
    }

    /// Removes the first timer when it is due at `now`.
    package mutating func removeFirst(dueAt now: ContinuousClock.Instant) -> BlobWaker? {
        guard let deadline = self.firstDeadline, deadline <= now else { return nil }
        let key = self.removeFirst().key
        defer { self.sweep() }
        return self.wakers.removeValue(forKey: key)
    }

    private mutating func sweep() {
        guard self.heap.count > 2 * self.wakers.count + Self.smallCount else { return }
        self.heap = self.heap.filter { self.wakers[$0.key] != nil }
        // A dictionary keeps the room that it once needed.
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
