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
