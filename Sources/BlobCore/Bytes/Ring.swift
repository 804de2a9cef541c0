/// A ring buffer of bytes, which are added at the back and removed at the front.
///
/// The memory is allocated with the first byte and freed with the last one, so that an idle ring costs nothing.
struct Ring {
    /// The memory, which is also retained by loans of its bytes.
    private final class Memory: @unchecked Sendable {  // Safe: the ring does not write to what is lent.
        let bytes: UnsafeMutableRawBufferPointer

        init(_ byteCount: Int) { self.bytes = .allocate(byteCount: byteCount, alignment: 16) }

        deinit { self.bytes.deallocate() }
    }

    private var memory: Memory?
    private var start = 0
    private(set) var count = 0
    /// The bytes of the memory behind these were never written.
    private var usedByteCount = 0

    var isEmpty: Bool { self.count == 0 }
    var heldByteCount: Int { self.memory?.bytes.count ?? 0 }

    /// Adds as many bytes as fit within `capacity`, which must be the same in every call; returns their number.
    mutating func append(_ bytes: UnsafeRawBufferPointer, capacity: Int) -> Int {
        let total = min(bytes.count, capacity - self.count)
        guard total > 0 else { return 0 }
        var end = (self.start + self.count) % capacity
        // Bytes that were removed may still be lent: without a loan nobody else holds the memory.
        let isUnused = end >= self.usedByteCount && total <= capacity - end
        if self.memory != nil, !isUnused, !isKnownUniquelyReferenced(&self.memory) {
            self.moveToNewMemory(capacity)
            end = self.count
        }
        let memory = self.memory ?? Memory(capacity)
        self.memory = memory
        let first = min(total, capacity - end)
        UnsafeMutableRawBufferPointer(rebasing: memory.bytes[end...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<first]))
        memory.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[first..<total]))
        self.usedByteCount = first < total ? capacity : max(self.usedByteCount, end + total)
        self.count += total
        return total
    }

    /// Leaves the memory to the loans of its bytes.
    private mutating func moveToNewMemory(_ capacity: Int) {
        let memory = Memory(capacity)
        let count = self.remove(into: UnsafeMutableRawBufferPointer(rebasing: memory.bytes[..<self.count]))
        (self.memory, self.start, self.count, self.usedByteCount) = (memory, 0, count, count)
    }

    /// Moves as many bytes as fit to `buffer`; returns their number.
    mutating func remove(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let memory = self.memory?.bytes else { return 0 }
        let total = min(buffer.count, self.count)
        let first = min(total, memory.count - self.start)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[self.start..<(self.start + first)]))
        UnsafeMutableRawBufferPointer(rebasing: buffer[first...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<(total - first)]))
        self.drop(total)
        return total
    }

    /// Drops bytes from the front.
    mutating func drop(_ byteCount: Int) {
        guard let memory else { return }
        self.start = (self.start + byteCount) % memory.bytes.count
        self.count -= byteCount
        if self.count == 0 { self.removeAll() }
    }

    /// Removes the contiguous bytes at the front, without a copy; nil when there are none.
    mutating func take(atMost byteCount: Int, onDelivery: @escaping @Sendable (Int) -> Void) -> BlobBytes? {
        guard let memory, self.count > 0 else { return nil }
        let end = min(memory.bytes.count, self.start + min(byteCount, self.count))
        let bytes = UnsafeRawBufferPointer(rebasing: memory.bytes[self.start..<end])
        self.drop(bytes.count)
        return BlobBytes(bytes, ownedBy: memory, isExclusive: true, onDelivery: onDelivery)
    }

    /// Drops all bytes.
    mutating func removeAll() { (self.memory, self.start, self.count, self.usedByteCount) = (nil, 0, 0, 0) }
}
