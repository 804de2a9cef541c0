/// The wakers that wait for descriptors.
///
/// A value without system calls. Each time that a descriptor is watched anew, its tag is another: an event that was on its
/// way meanwhile, or comes from a file that the number belonged to before, is of an old tag and wakes nobody.
struct ParkingTable {
    private struct Parked {
        var generation: UInt32
        var wakers: [(key: UInt64, waker: BlobWaker)]
    }

    private var parked: [CInt: Parked] = [:]
    private var lastGeneration: UInt32 = 0

    /// Adds a waker.
    ///
    /// - Returns: The tag that the descriptor is to be watched with from now on.
    mutating func insert(_ waker: BlobWaker, key: UInt64, for descriptor: CInt) -> UInt64 {
        self.lastGeneration &+= 1
        self.parked[descriptor, default: Parked(generation: 0, wakers: [])].generation = self.lastGeneration
        self.parked[descriptor]?.wakers.append((key, waker))
        return UInt64(self.lastGeneration) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }

    /// The descriptor that an event is of, and the keys of those who wait for it.
    func parked(for tag: UInt64) -> (descriptor: CInt, keys: [UInt64])? {
        let descriptor = CInt(truncatingIfNeeded: tag)
        guard let parked = self.parked[descriptor], parked.generation == UInt32(tag >> 32) else { return nil }
        return (descriptor, parked.wakers.map(\.key))
    }

    /// Removes a waker, if it is still there; it is to be let go of outside of any lock.
    ///
    /// - Returns: With the waker, whether it was the last of its descriptor.
    mutating func remove(_ key: UInt64, for descriptor: CInt) -> (waker: BlobWaker, isLast: Bool)? {
        guard let index = self.parked[descriptor]?.wakers.firstIndex(where: { $0.key == key }),
            let waker = self.parked[descriptor]?.wakers.remove(at: index).waker
        else { return nil }
        let isLast = self.parked[descriptor]?.wakers.isEmpty ?? true
        if isLast { self.parked[descriptor] = nil }
        return (waker, isLast)
    }
}
