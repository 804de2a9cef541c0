/// Bytes in a circle: added behind, removed in front.
///
/// Allocated when the first byte comes and freed when the last one goes, so that an idle ring costs nothing.
struct Ring: @unchecked Sendable {  // Safe: the memory is its own.
    private var memory: UnsafeMutableRawBufferPointer?
    private var start = 0
    private(set) var count = 0

    var isEmpty: Bool { self.count == 0 }

    /// Adds as many bytes as fit below `capacity`, which is the same in every call.
    mutating func append(_ bytes: UnsafeRawBufferPointer, capacity: Int) -> Int {
        let total = min(bytes.count, capacity - self.count)
        guard total > 0 else { return 0 }
        let memory = self.memory ?? .allocate(byteCount: capacity, alignment: 16)
        self.memory = memory
        let end = (self.start + self.count) % capacity
        let first = min(total, capacity - end)
        UnsafeMutableRawBufferPointer(rebasing: memory[end...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<first]))
        memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[first..<total]))
        self.count += total
        return total
    }

    /// Moves as many bytes as fit to `buffer`.
    mutating func remove(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let memory = self.memory else { return 0 }
        let total = min(buffer.count, self.count)
        let first = min(total, memory.count - self.start)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[self.start..<(self.start + first)]))
        UnsafeMutableRawBufferPointer(rebasing: buffer[first...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<(total - first)]))
        self.start = (self.start + total) % memory.count
        self.count -= total
        if self.count == 0 { self.free() }
        return total
    }

    /// Drops all bytes. The owner's last call.
    mutating func free() {
        self.memory?.deallocate()
        (self.memory, self.start, self.count) = (nil, 0, 0)
    }
}
