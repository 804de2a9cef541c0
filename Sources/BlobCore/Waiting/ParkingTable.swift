/// The wakers that wait for descriptors.
///
/// A value without system calls. Each time that a descriptor is watched anew, its tag is another: an event that was on its
/// way meanwhile, or comes from a file that the number belonged to before, is of an old tag and wakes nobody.
struct ParkingTable {
    private typealias Waiting = (key: UInt64, waker: BlobWaker)

    private struct Parked {
        var generation: UInt32
        var first: Waiting
        /// Rarely any: an array for one would be a third of what a parking takes.
        var others: [Waiting] = []
    }

    private var parked: [CInt: Parked] = [:]
    private var lastGeneration: UInt32 = 0

    /// Adds a waker.
    ///
    /// - Returns: The tag that the descriptor is to be watched with from now on.
    mutating func insert(_ waker: BlobWaker, key: UInt64, for descriptor: CInt) -> UInt64 {
        self.lastGeneration &+= 1
        if self.parked[descriptor]?.others.append((key, waker)) == nil {
            self.parked[descriptor] = Parked(generation: self.lastGeneration, first: (key, waker))
        }
        self.parked[descriptor]?.generation = self.lastGeneration
        return UInt64(self.lastGeneration) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }

    /// The descriptor that an event is of, and the keys of those who wait for it.
    func parked(for tag: UInt64) -> (descriptor: CInt, keys: [UInt64])? {
        let descriptor = CInt(truncatingIfNeeded: tag)
        guard let parked = self.parked[descriptor], parked.generation == UInt32(tag >> 32) else { return nil }
        return (descriptor, [parked.first.key] + parked.others.map(\.key))
    }

    /// Removes a waker, if it is still there; it is to be let go of outside of any lock.
    ///
    /// - Returns: With the waker, whether it was the last of its descriptor.
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
